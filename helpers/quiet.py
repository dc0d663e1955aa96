"""Import OpenVINO without its telemetry.

First used in notebook 15_graviton_openvino.
"""

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
