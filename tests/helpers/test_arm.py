"""The emulated Arm root: what can be checked without building it."""

import os
import re
import subprocess
import sys

import pytest

from helpers.arm import __main__ as arm
from helpers.arm import root
from helpers.arm.chips import CHIPS


def test_the_pins_are_those_of_aarch64():
    text = """
# a comment
torch==2.9.1
torch-xla==2.9.0 ; platform_machine == "x86_64"  # has no aarch64 wheel
onlyarm==1.0 ; platform_machine == "aarch64"
--extra-index-url somewhere
"""
    assert root.arm_pins(text) == ["torch==2.9.1", "onlyarm==1.0"]


def test_every_pin_of_the_series_is_exact():
    pins = root.arm_pins(root.REQUIREMENTS.read_text())
    assert len(pins) > 100
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    assert not any(pin.startswith("torch-xla") for pin in pins)


@pytest.mark.parametrize("chip", CHIPS.values(), ids=CHIPS)
def test_a_chip_is_told_by_its_cpuinfo(chip):
    text = chip.cpuinfo(cores=2)
    assert text.count("processor\t:") == 2
    assert f"CPU part\t: 0x{chip.part:x}" in text
    assert ("bf16" in text.split()) == (chip.name != "graviton2")
    assert ("sve2" in text.split()) == (chip.name == "graviton4")


def test_a_stage_is_made_once_and_again_when_its_input_changes(tmp_path):
    made = []
    for wanted in ("a", "a", "b"):
        root._stage(tmp_path, "debian", wanted, lambda: made.append(1))
    assert len(made) == 2


def test_an_interrupted_stage_is_made_again(tmp_path):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        root._stage(tmp_path, "wheels", "a", interrupted)
    made = []
    root._stage(tmp_path, "wheels", "a", lambda: made.append(1))
    assert made


def test_it_says_what_is_missing_before_it_does_anything(monkeypatch, capfd):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(arm.platform, "machine", lambda: "x86_64")
    assert arm.main(["graviton4", "true"]) == 2
    assert "need root" in capfd.readouterr().err


def test_a_chip_that_is_not_there_is_named(capfd):
    assert arm.main(["graviton9", "true"]) == 2
    assert "graviton2, graviton3, graviton4" in capfd.readouterr().err


def test_on_arm_nothing_is_emulated(monkeypatch):
    monkeypatch.setattr(arm.platform, "machine", lambda: "aarch64")
    assert arm.main(["graviton4", "sh", "-c", "exit 7"]) == 7


def test_without_a_command_it_says_how_it_is_called(capfd):
    assert arm.main([]) == arm.main(["graviton4"]) == 2
    assert "usage" in capfd.readouterr().err


def test_a_command_that_is_terminated_unregisters_the_emulator(tmp_path):
    (tmp_path / "register").touch()
    code = f"""
import os, signal
from pathlib import Path
from helpers.arm import __main__ as arm

arm.BINFMT = Path({str(tmp_path)!r})
arm.end_when_terminated()
with arm._binfmt():
    os.kill(os.getpid(), signal.SIGTERM)
"""
    done = subprocess.run([sys.executable, "-c", code])
    assert done.returncode == 128 + 15
    assert (tmp_path / "qemu-aarch64").read_text() == "-1"
