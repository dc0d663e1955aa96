"""Record what oneDNN and lscpu print on emulated Gravitons.

``python -m helpers.arm graviton4 python3 tests/arm/record.py`` (and graviton2), or only
one of them, named: ``... record.py lscpu``.

Each of oneDNN's is one call of a small model (64 pixels, batch 2) after a first one,
by oneDNN's verbose mode; unit tests read them on any machine. The first line says where
it is from. Timings are cut off: emulated ones mean nothing.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from helpers import machine, models

FOLDER = Path(__file__).parent.parent / "data" / "arm"
CALL = """
import sys
import torch
from helpers import models

name, how = sys.argv[1:]
model = models.make(name).to(memory_format=torch.channels_last)
batch = models.images(name, 2).to(memory_format=torch.channels_last)
if how == "bf16":
    model, batch = model.to(torch.bfloat16), batch.to(torch.bfloat16)
autocast = torch.autocast("cpu", torch.bfloat16, enabled=how == "autocast")
with torch.no_grad(), autocast:
    model(batch)
    print("SECOND CALL", flush=True)
    model(batch)
"""
RESNET, VIT = "resnet18_64px", "vit_tiny_64px"
RECORDINGS = {
    "fp32": (RESNET, "fp32", {}),
    "fpmath": (RESNET, "fp32", {"DNNL_DEFAULT_FPMATH_MODE": "BF16"}),
    "cache": (RESNET, "fp32", {"LRU_CACHE_CAPACITY": "1024"}),
    "autocast": (RESNET, "autocast", {}),
    "bf16": (RESNET, "bf16", {}),
    # without look-ups: it has 50 layers
    "vit-autocast": (VIT, "autocast", {"ONEDNN_VERBOSE": "1"}),
}

READ = ("Architecture", "Vendor ID", "Model name", "Thread(s) per core", "Flags")


def record(name: str) -> str:
    """The verbose lines of the second call, without their timings."""
    model, how, variables = RECORDINGS[name]
    said = subprocess.run(
        [sys.executable, "-c", CALL, model, how],
        env=os.environ | {"ONEDNN_VERBOSE": "2"} | variables,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    lines = [x for x in said.split("SECOND CALL")[1].splitlines() if "verbose,v1" in x]
    return "".join(re.sub(r",[\d.e-]+$", ",0", line) + "\n" for line in lines)


def lscpu(chip: str) -> None:
    """Keep what `helpers.machine` reads; caches and the like are the host's."""
    printed = subprocess.check_output(["lscpu", "-J"], text=True)
    fields = machine._flatten(json.loads(printed)["lscpu"])
    kept = [{"field": f"{key}:", "data": fields[key]} for key in READ if key in fields]
    path = FOLDER / f"lscpu-{chip}.json"
    path.write_text(json.dumps({"lscpu": kept}, indent=1) + "\n")


def main() -> None:
    here = machine.describe()
    FOLDER.mkdir(parents=True, exist_ok=True)
    names = sys.argv[1:] or ["lscpu", *RECORDINGS]
    if "lscpu" in names:
        names.remove("lscpu")
        lscpu(here.chip)
    for name in names:
        path = FOLDER / f"onednn-{here.chip}-{name}.txt"
        title = models.MODELS[RECORDINGS[name][0]].title
        what = f"torch {here.versions['torch']}, {title}, batch 2, {name}"
        head = f"# {here.emulated or here.label()}: {what}\n"
        path.write_text(head + record(name))
        print(path.name, len(path.read_text().splitlines()), "lines", flush=True)


if __name__ == "__main__":
    main()
