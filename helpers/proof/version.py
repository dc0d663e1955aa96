"""A proof about the PyTorch that runs."""

import re
import sys

from helpers.proof.witness import Proof, Witness


def torch_version(version: str) -> Proof:
    """The process runs this PyTorch (a build's suffix, "+cpu", does not count)."""

    def look(witness: Witness) -> tuple[bool, str]:
        import torch

        onednn = re.search(r"(?:MKL-DNN|oneDNN) v([\d.]+)", torch.__config__.show())
        found = f"oneDNN {onednn[1]}" if onednn else "no oneDNN"
        saw = f"torch {torch.__version__} with {found} in {sys.prefix.split('/')[-1]}"
        return torch.__version__.split("+")[0] == version, saw

    return Proof(f"torch {version}", look)
