"""OpenVINO's own benchmark_app on a model of the series: the figure to set beside ours.

``python -m helpers.benchmark_app resnet50 8`` prints images/s as benchmark_app counts
them (measured, on this machine, without telemetry). Its requests hold random data and
its queue never runs empty. First used in notebook 16_graviton_results.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from helpers import models, quiet
from helpers.environment import ROOT
from helpers.sampling import counted

HINT = "throughput"
RUN = """
import sys
from helpers import quiet
quiet.openvino()
from openvino.tools.benchmark.main import main
sys.exit(main())
"""


def images_per_second(name: str, batch_size: int, *, seconds: int = 10) -> float:
    """What benchmark_app reports for a model of `helpers.models`, in fp32.

    The model is converted in this process and its batch fixed; benchmark_app runs in
    one of its own, with the throughput hint. Raises RuntimeError with its last lines
    if it reports nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.xml")
        _convert(name, batch_size, path)
        command = [sys.executable, "-c", RUN, "-m", str(path), "-d", "CPU"]
        command += ["-hint", HINT, "-t", str(seconds)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    seconds_an_image = 1 / throughput(done.stdout + done.stderr)
    return 1 / counted(seconds_an_image)


def throughput(text: str) -> float:
    """images/s in what benchmark_app printed."""
    found = re.search(r"Throughput:\s+(\d+(?:\.\d+)?) FPS", text)
    if not found:
        raise RuntimeError(f"benchmark_app reports no throughput: {text[-500:]}")
    return float(found[1])


def _convert(name: str, batch_size: int, path: Path) -> None:
    openvino = quiet.openvino()
    batch = models.images(name, batch_size)
    converted = openvino.convert_model(models.make(name), example_input=batch)
    converted.reshape(list(batch.shape))
    openvino.save_model(converted, path, compress_to_fp16=False)


if __name__ == "__main__":
    model, images = sys.argv[1:]
    value = images_per_second(model, int(images))
    print(f"{value:.2f} images/s (benchmark_app, {HINT} hint, measured)")
