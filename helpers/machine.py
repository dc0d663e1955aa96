"""Say which machine this is: a number without its machine means nothing."""

import functools
import html
import json
import os
import platform
import re
import subprocess
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

PACKAGES = (
    "torch",
    "torchvision",
    "timm",
    "torchao",
    "onnxruntime",
    "openvino",
    "nncf",
    "numpy",
    "torch-xla",
    "torch-neuronx",
    "neuronx-cc",
)

# What matters to these notebooks, by the names that lscpu prints in "Flags".
FEATURES = {
    "bf16": {"bf16", "avx512_bf16", "amx_bf16"},
    "int8 matrix": {"i8mm", "amx_int8"},
    "int8 dot": {"asimddp", "avx512_vnni", "avx_vnni"},
    "sve": {"sve"},
    "sve2": {"sve2"},
    "amx": {"amx_tile"},
    "avx512": {"avx512f"},
    "avx2": {"avx2"},
}

# Arm core name as lscpu prints it -> AWS's chip
GRAVITONS = {
    "Neoverse-N1": "graviton2",
    "Neoverse-V1": "graviton3",
    "Neoverse-V2": "graviton4",
    "Neoverse-V3": "graviton5",
}
# "CPU part" in /proc/cpuinfo: the lscpu of Amazon Linux 2023 (util-linux 2.37) does not
# know the newer cores, and prints no name (github.com/archspec/archspec-json/issues/83)
PARTS = {
    "0xd0c": "Neoverse-N1",
    "0xd40": "Neoverse-V1",
    "0xd4f": "Neoverse-V2",
    "0xd84": "Neoverse-V3",
}
# `helpers.arm` writes this file into the root that it emulates: which chip, and by what
EMULATED = Path("/etc/emulated")
NEURON_CHIPS = {"inf2": "inferentia2", "trn1": "trainium1", "trn2": "trainium2"}


@dataclass(frozen=True, repr=False)
class Machine:
    """One host.

    `cores` counts the CPUs this process may use, `memory_gib` what the machine (or
    its container) has; `versions` maps package to version. `emulated` says by what an
    emulated machine is imitated: no time taken on it means anything.
    """

    chip: str
    name: str
    instance_type: str
    architecture: str
    cores: int
    threads_per_core: int
    memory_gib: float
    features: tuple[str, ...]
    neuron_devices: int
    system: str
    python: str
    versions: dict[str, str]
    emulated: str = ""

    def has(self, feature: str) -> bool:
        return feature in self.features

    def label(self) -> str:
        """The words a plot carries: chip, cores, and the instance if known."""
        where = f", {self.instance_type}" if self.instance_type else ""
        stamp = ", EMULATED: not timed" if self.emulated else ""
        return f"{self.name} ({self.chip}{where}), {self.cores} cores{stamp}"

    __repr__ = label

    def as_dict(self) -> dict:
        return asdict(self)

    def _repr_html_(self) -> str:
        features = ", ".join(self.features) or "none of those this series uses"
        versions = ", ".join(f"{k} {v}" for k, v in self.versions.items())
        rows = {
            "Chip": f"{self.chip}: {self.name}",
            "Instance": self.instance_type or "not an EC2 instance",
            "Cores": f"{self.cores} (threads per core: {self.threads_per_core})",
            "Memory": f"{self.memory_gib:.1f} GiB",
            "CPU features": features,
            "Neuron devices": str(self.neuron_devices),
            "System": f"{self.system}, Python {self.python}",
            "Packages": versions,
        }
        cells = "".join(
            f"<tr><th style='text-align:left'>{key}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for key, value in rows.items()
        )
        return f"<table>{cells}</table>"


@functools.cache
def describe() -> Machine:
    """Describe this host from lscpu, /proc, /sys and /dev; no network is used."""
    return _describe(
        _lscpu_json(),
        _read("/proc/meminfo"),
        _instance_type(),
        _neuron_devices(),
        cpuinfo=_read("/proc/cpuinfo"),
    )


def _describe(
    lscpu: str, meminfo: str, instance: str, neuron_devices: int, cpuinfo: str = ""
) -> Machine:
    fields = _flatten(json.loads(lscpu)["lscpu"]) if lscpu else {}
    flags = set(fields.get("Flags", "").split())
    architecture = fields.get("Architecture", platform.machine())
    model = fields.get("Model name", "").strip("-") or _core(cpuinfo)
    return Machine(
        chip=_chip(architecture, model, instance, neuron_devices),
        name=_name(fields, model, architecture),
        instance_type=instance,
        architecture=architecture,
        cores=len(os.sched_getaffinity(0)),
        threads_per_core=int(fields.get("Thread(s) per core", 1) or 1),
        memory_gib=_memory_gib(meminfo),
        features=tuple(name for name, any_of in FEATURES.items() if flags & any_of),
        neuron_devices=neuron_devices,
        system=platform.platform(terse=True),
        python=platform.python_version(),
        versions=_versions(),
        emulated=emulated(),
    )


@functools.cache
def emulated() -> str:
    """By what this machine is imitated ("graviton4 by qemu-aarch64"); "" if real."""
    return _read(str(EMULATED)).strip()


def patience(seconds: float) -> float:
    """How long to wait for an answer that takes at most `seconds` on a real machine."""
    return 10 * seconds if emulated() else seconds


def _chip(architecture: str, model: str, instance: str, neuron_devices: int) -> str:
    if neuron_devices:
        return NEURON_CHIPS.get(instance.split(".")[0], "neuron")
    if architecture == "aarch64":
        return GRAVITONS.get(model, "aarch64")
    return architecture.replace("_", "-")


def _core(cpuinfo: str) -> str:
    """The name of an Arm core by its part number in /proc/cpuinfo, "" if not known."""
    part = re.search(r"^CPU part\s*: (\w+)", cpuinfo, re.MULTILINE)
    return PARTS.get(part[1].lower(), "") if part else ""


def _name(fields: dict[str, str], model: str, architecture: str) -> str:
    # On EC2 the BIOS says "AWS Graviton4 AWS Graviton4 CPU @ 2.8GHz", with one space or
    # several in between; /proc/cpuinfo of arm64 says nothing.
    bios = re.match(r"AWS Graviton\w*", fields.get("BIOS Model name", ""))
    name = f"{bios[0]} ({model})" if bios else model
    return name or f"unnamed {architecture} processor"


def _memory_gib(meminfo: str) -> float:
    total = next(
        (
            int(line.split()[1]) / 2**20
            for line in meminfo.splitlines()
            if line.startswith("MemTotal")
        ),
        0.0,
    )
    limit = _read("/sys/fs/cgroup/memory.max").strip()
    return min(total, int(limit) / 2**30) if limit.isdigit() else total


def _flatten(entries: list[dict]) -> dict[str, str]:
    """lscpu nests fields under headings since util-linux 2.37."""
    fields: dict[str, str] = {}
    for entry in entries:
        fields[entry["field"].rstrip(":")] = entry.get("data") or ""
        fields |= _flatten(entry.get("children", []))
    return fields


def _lscpu_json() -> str:
    try:
        return subprocess.run(
            ["lscpu", "-J"],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
            env={**os.environ, "LC_ALL": "C"},
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def _instance_type() -> str:
    """EC2's instance type from DMI; a machine elsewhere gives ""."""
    vendor = _read("/sys/class/dmi/id/sys_vendor").strip()
    product = _read("/sys/class/dmi/id/product_name").strip()
    return product if vendor == "Amazon EC2" else ""


def _neuron_devices() -> int:
    return sum(1 for path in Path("/dev").glob("neuron*") if path.name[6:].isdigit())


def _versions() -> dict[str, str]:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""
