"""An emulated Arm userland, in which the Arm half of the series runs on x86-64.

``python -m helpers.arm graviton4 COMMAND`` builds it once and runs a command in it.
Function only: no time that is taken under emulation says anything about a Graviton.
"""
