"""The Gravitons as QEMU can imitate them: instruction set and /proc/cpuinfo.

Imitations: QEMU's `max` also has SVE2 where a real Graviton3 has none, and no cache or
pipeline is modelled. SME is off because no Graviton has it. (With QEMU 7.2's, OpenVINO
2026.4.1 got a ResNet-18 wrong on 2026-11-30; a day later 2026.3.1 got two convolutions
right.)
"""

from dataclasses import dataclass

_N1 = (
    "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm "
    "lrcpc dcpop asimddp ssbs"
)
_V1 = (
    "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm "
    "jscvt fcma lrcpc dcpop sha3 sm3 sm4 asimddp sha512 sve asimdfhm dit uscat ilrcpc "
    "flagm ssbs paca pacg dcpodp svei8mm svebf16 i8mm bf16 dgh rng"
)
_V2 = f"{_V1} sve2 sveaes svepmull svebitperm svesha3 flagm2 frint"


@dataclass(frozen=True)
class Chip:
    """`qemu` is the value of QEMU_CPU; `part` and `features` what the kernel prints."""

    name: str
    qemu: str
    part: int
    features: str

    def cpuinfo(self, cores: int) -> str:
        """What /proc/cpuinfo says on a machine with so many cores of this chip."""
        return "\n".join(
            f"processor\t: {core}\nBogoMIPS\t: 2100.00\nFeatures\t: {self.features}\n"
            "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\n"
            f"CPU part\t: {self.part:#x}\nCPU revision\t: 1\n"
            for core in range(cores)
        )


CHIPS = {
    chip.name: chip
    for chip in (
        Chip("graviton2", "neoverse-n1", 0xD0C, _N1),
        Chip("graviton3", "max,sme=off,sve-default-vector-length=32", 0xD40, _V1),
        Chip("graviton4", "max,sme=off,sve-default-vector-length=16", 0xD4F, _V2),
    )
}
