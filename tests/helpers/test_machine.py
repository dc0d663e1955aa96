"""Which machine this is: from recorded lscpu output, and here."""

import json
from pathlib import Path

import pytest

from helpers import machine
from helpers.arm.chips import CHIPS
from helpers.sampling import EMULATED_SECONDS, take


def lscpu(**fields) -> str:
    entries = [
        {"field": f"{k.replace('_', ' ')}:", "data": v} for k, v in fields.items()
    ]
    return json.dumps({"lscpu": entries})


ARM = Path(__file__).parent.parent / "data" / "arm"
ARM_FLAGS = "fp asimd atomics asimddp sve svei8mm svebf16 i8mm bf16"
MEMINFO = "MemTotal:        8000000 kB\nMemFree: 1 kB\n"


def described(text, instance="", neuron=0, cpuinfo=""):
    return machine._describe(text, MEMINFO, instance, neuron, cpuinfo)


# Of a c7g: the lines that count in what lscpu of util-linux 2.39 printed, one space
# between the two names (github.com/ordiy/study_notes, comparison of Arm processors)
GRAVITON3 = """
Architecture:             aarch64
CPU(s):                   48
Vendor ID:                ARM
  BIOS Vendor ID:         AWS
  Model name:             Neoverse-V1
    BIOS Model name:      AWS Graviton3 AWS Graviton3 CPU @ 2.6GHz
    Model:                1
    Thread(s) per core:   1
    Flags:                fp asimd asimddp sve paca pacg svei8mm svebf16 i8mm bf16 rng
"""
# Of an hpc7g with Amazon Linux 2023 (util-linux 2.37): no name of the core
# (github.com/archspec/archspec-json/issues/83)
UNNAMED = """
Architecture:                       aarch64
CPU(s):                             64
Vendor ID:                          ARM
Model:                              1
Thread(s) per core:                 1
"""
# What the kernel prints of each core (github.com/archspec/archspec-json, pulls 9, 51)
CPUINFO = """processor\t: 0
BogoMIPS\t: 2100.00
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x1
CPU part\t: PART
CPU revision\t: 1
"""


def as_json(printed: str) -> str:
    """lscpu's lines as `lscpu -J` has them."""
    pairs = (line.partition(":") for line in printed.strip().splitlines())
    entries = [{"field": f"{k.strip()}:", "data": v.strip()} for k, _, v in pairs]
    return json.dumps({"lscpu": entries})


@pytest.mark.parametrize(
    ("core", "flags", "chip", "bf16"),
    [
        ("Neoverse-N1", "fp asimd atomics asimddp", "graviton2", False),
        ("Neoverse-V1", ARM_FLAGS, "graviton3", True),
        ("Neoverse-V2", ARM_FLAGS + " sve2", "graviton4", True),
    ],
)
def test_a_graviton_is_named_by_its_core(core, flags, chip, bf16):
    text = lscpu(
        Architecture="aarch64",
        Model_name=core,
        BIOS_Model_name=f"AWS Graviton{chip[-1]}  AWS Graviton{chip[-1]} CPU @ 2.6GHz",
        Flags=flags,
    )
    found = described(text, instance="c8g.xlarge")
    assert found.chip == chip
    assert found.name == f"AWS Graviton{chip[-1]} ({core})"
    assert found.has("bf16") is bf16
    assert "c8g.xlarge" in found.label()


def test_a_recorded_graviton3_is_named_by_its_bios():
    found = described(as_json(GRAVITON3), instance="c7g.12xlarge")
    assert (found.chip, found.name) == ("graviton3", "AWS Graviton3 (Neoverse-V1)")
    assert {"bf16", "int8 matrix", "int8 dot", "sve"} == set(found.features)


@pytest.mark.parametrize(
    ("part", "chip"),
    [
        ("0xd0c", "graviton2"),
        ("0xd40", "graviton3"),
        ("0xd4f", "graviton4"),
        ("0xd84", "graviton5"),
        ("0xd08", "aarch64"),  # a Cortex-A72, the core of the first Graviton
    ],
)
@pytest.mark.parametrize("model", ["", "Model name: -"])
def test_a_core_that_lscpu_cannot_name_is_told_by_its_part(part, chip, model):
    cpuinfo = CPUINFO.replace("PART", part)
    found = described(as_json(UNNAMED + model), cpuinfo=cpuinfo)
    assert found.chip == chip
    assert ("Neoverse" in found.name) == (chip != "aarch64")


@pytest.mark.parametrize("chip", CHIPS.values(), ids=CHIPS)
def test_an_emulated_graviton_is_described_as_its_own(chip):
    recorded = (ARM / f"lscpu-{chip.name}.json").read_text()
    found = described(recorded, cpuinfo=chip.cpuinfo(cores=2))
    assert found.chip == chip.name
    assert found.architecture == "aarch64"
    assert found.has("bf16") == found.has("int8 matrix") == (chip.name != "graviton2")
    assert found.has("sve") == (chip.name != "graviton2")
    assert found.has("sve2") == (chip.name == "graviton4")
    assert found.has("int8 dot")


def test_an_inf2_is_named_by_its_device_not_its_host_processor():
    text = lscpu(Architecture="x86_64", Model_name="AMD EPYC 7R13", Flags="avx2")
    assert described(text, instance="inf2.xlarge", neuron=1).chip == "inferentia2"
    assert described(text, instance="trn1.2xlarge", neuron=1).chip == "trainium1"
    assert described(text, instance="inf2.xlarge", neuron=0).chip == "x86-64"


def test_newer_lscpu_nests_its_fields():
    nested = {
        "lscpu": [
            {"field": "Architecture:", "data": "x86_64"},
            {
                "field": "Vendor ID:",
                "data": "GenuineIntel",
                "children": [
                    {"field": "Model name:", "data": "Xeon"},
                    {"field": "Flags:", "data": "avx2 avx512_vnni amx_bf16 amx_tile"},
                ],
            },
        ]
    }
    found = described(json.dumps(nested))
    assert found.name == "Xeon"
    assert {"int8 dot", "bf16", "amx"} <= set(found.features)


def test_without_lscpu_the_machine_still_has_a_name():
    assert "unnamed" in described("").name


def test_this_machine_is_described():
    here = machine.describe()
    assert here.cores >= 1
    assert here.memory_gib > 0.5
    assert "torch" in here.versions


def test_the_card_escapes_what_the_machine_says():
    found = described(lscpu(Architecture="x86_64", Model_name="<script>"))
    assert "<script>" not in found._repr_html_()


@pytest.fixture
def emulated(tmp_path, monkeypatch):
    marker = tmp_path / "emulated"
    marker.write_text("graviton4 by qemu-aarch64\n")
    monkeypatch.setattr(machine, "EMULATED", marker)
    machine.emulated.cache_clear()
    yield
    machine.emulated.cache_clear()


def test_an_emulated_machine_says_so_wherever_it_is_named(emulated):
    assert machine.emulated() == "graviton4 by qemu-aarch64"
    assert (
        described(lscpu(Model_name="Neoverse-V2"))
        .label()
        .endswith("EMULATED: not timed")
    )


def test_a_real_machine_does_not():
    assert machine.emulated() == ""
    assert "EMULATED" not in described(lscpu(Model_name="Neoverse-V2")).label()


def test_an_emulated_machine_is_waited_for_longer(emulated):
    assert machine.patience(60) == 600


def test_a_real_machine_is_waited_for_as_long_as_asked():
    assert machine.patience(60) == 60


def test_nothing_is_timed_on_an_emulated_machine(emulated):
    calls = []
    assert take(lambda: calls.append(1), count=3) == [EMULATED_SECONDS] * 3
    assert len(calls) == 1
