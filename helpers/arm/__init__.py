"""An emulated Arm userland, in which the Arm half of the series runs on x86-64.

``make arm`` builds it once and runs the Arm test set in it. Function only: no time
that is taken under emulation says anything about a Graviton.
"""
