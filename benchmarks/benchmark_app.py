"""OpenVINO's own benchmark_app on a model of the series: the figure to set beside ours.

    python benchmarks/benchmark_app.py resnet50 8 --seconds 10 --hint throughput

Prints images/s as benchmark_app counts them (measured, on this machine, without
telemetry). Its requests hold random data and the queue never runs empty.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

RUN = """
import sys
from helpers import quiet
quiet.openvino()
from openvino.tools.benchmark.main import main
sys.exit(main())
"""


def images_per_second(
    name: str, batch_size: int, *, seconds: int = 10, hint: str = "throughput"
) -> float:
    """What benchmark_app reports for a model of `helpers.models`.

    The model is converted in this process and its batch fixed; benchmark_app runs in
    one of its own. Raises RuntimeError with its last lines if it reports nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.xml")
        _convert(name, batch_size, path)
        command = [sys.executable, "-c", RUN, "-m", str(path), "-d", "CPU"]
        command += ["-hint", hint, "-t", str(seconds)]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False
        )
    return throughput(done.stdout + done.stderr)


def throughput(text: str) -> float:
    """images/s in what benchmark_app printed."""
    found = re.search(r"Throughput:\s+([\d.]+) FPS", text)
    if not found:
        raise RuntimeError(f"benchmark_app reports no throughput: {text[-500:]}")
    return float(found[1])


def _convert(name: str, batch_size: int, path: Path) -> None:
    from helpers import models, quiet

    openvino = quiet.openvino()
    batch = models.images(name, batch_size)
    converted = openvino.convert_model(models.make(name), example_input=batch)
    converted.reshape(list(batch.shape))
    openvino.save_model(converted, path, compress_to_fp16=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("batch_size", type=int)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--hint", default="throughput")
    given = parser.parse_args()
    value = images_per_second(
        given.model, given.batch_size, seconds=given.seconds, hint=given.hint
    )
    print(f"{value:.2f} images/s (benchmark_app, {given.hint})")
