"""Import OpenVINO without its telemetry, and NNCF without its progress bars.

First used in notebook 15_graviton_openvino.
"""

import logging
import sys
from types import ModuleType


def openvino() -> ModuleType:
    """The `openvino` package, which will send nothing and write nothing in the home.

    OpenVINO and NNCF report imports and conversions through the package
    `openvino_telemetry`, and do without where it cannot be imported: so it cannot,
    from the first call of this function on. Call it before anything imports them.
    """
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    return openvino


def nncf() -> ModuleType:
    """The `nncf` package, whose progress bars would be empty outputs of a page.

    It draws them with rich's console, and its import has PyTorch say which CUDA a
    machine without one lacks.
    """
    openvino()
    import rich

    rich.reconfigure(quiet=True, force_jupyter=False)
    logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)
    import nncf

    return nncf
