"""A built operator library: call its shape functions and its kernels."""

import ctypes as c
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from neuronsim.gpsimd import abi, limits, toolchain
from neuronsim.gpsimd.build import Built
from neuronsim.gpsimd.errors import ArgumentError, BuildError
from neuronsim.gpsimd.findings import (
    FATAL,
    Counters,
    Finding,
    Report,
    SanitizerError,
    Writes,
    coverage,
    merged,
    writers,
)

Sanitize = bool | Literal["report"]
_ROOM = 2048
_one_at_a_time = threading.Lock()  # the runtime borrows the process's fault handlers
_SPELLINGS = {
    "T": {"torch::Tensor", "torch::Tensor const&", "torch::Tensor&"},
    "S": {"c10::Scalar", "c10::Scalar const&", "c10::Scalar&"},
    "d": {"double"},
    "i": {"long", "long long"},
}


@dataclass(frozen=True)
class Operator:
    """One registered operator: ``torch.ops.<library>.<name>``."""

    index: int
    name: str
    kinds: str
    call: int  # addresses of the caller and of the kernel
    kernel: int

    @property
    def schema(self) -> str:
        """The operator's signature in PyTorch's schema language."""
        kinds = enumerate(abi.SCHEMA[kind] for kind in self.kinds)
        arguments = ", ".join(f"{kind} argument_{i}" for i, kind in kinds)
        return f"{self.name}({arguments}) -> Tensor"


class Library:
    """A loaded host build.

    Attributes
    ----------
    name
        As in ``NEURON_LIBRARY(name, m)``: the namespace under ``torch.ops``.
    operators
        By name.
    report
        Of the latest call of any operator; ``None`` before the first.
    sanitize
        ``True``: findings raise; ``"report"``: findings are kept in ``report``;
        ``False``: only what would have crashed raises, and coverage is not analysed.
    """

    def __init__(self, built: Built, sanitize: Sanitize = True):
        self.built, self.sanitize = built, sanitize
        self.cores = int(limits.CORES) if built.multicore else 1
        self.report: Report | None = None
        self._shapes = abi.open_shape(built.shape.path)
        self._kernels = abi.open_kernel(built.kernel.path)
        self.name = self._registered_name()
        self.operators = {entry.name: entry for entry in self._entries()}

    def shape(
        self, operator: str, arguments: Sequence
    ) -> tuple[list[int], torch.dtype]:
        """Sizes and dtype of the output, from the shape function; no data is read."""
        entry = self.operators[operator]
        given = self._arguments(entry, arguments, data=False)
        result, message = abi.Argument(), c.create_string_buffer(_ROOM)
        if self._shapes.gpsimd_shape(
            entry.index, given, len(given), c.byref(result), message, _ROOM
        ):
            raise ArgumentError(f"{operator}: {message.value.decode()}")
        sizes = list(result.sizes[: result.dim])
        self._check_shape(f"{operator}'s output", sizes)
        return sizes, abi.TORCH_DTYPES[result.dtype]

    def run(self, operator: str, arguments: Sequence) -> torch.Tensor:
        """Run a kernel on CPU tensors, on 8 cores with multicore, else on one.

        Raises
        ------
        ArgumentError
            If a documented limit is broken or the shape function refuses.
        SanitizerError
            If the sanitiser finds something (see ``sanitize``).
        """
        entry = self.operators[operator]
        arguments = [_contiguous(argument) for argument in arguments]
        sizes, dtype = self.shape(operator, arguments)
        output = torch.empty(sizes, dtype=dtype)
        c.memset(output.data_ptr(), 255, output.nbytes)  # never written: NaN or -1
        given, result = self._arguments(entry, arguments, data=True), abi.Result()
        target = abi.tensor(output, data=True)
        with _one_at_a_time:
            run = self._kernels.gpsimd_run(
                entry.call,
                entry.kernel,
                given,
                len(given),
                c.byref(target),
                self.cores,
                int(limits.TCM_POOL),
                c.byref(result),
            )
        try:
            self.report = self._read(operator, result, output.numel())
        finally:
            self._kernels.gpsimd_release(run)
        self._judge(self.report)
        return output

    def _judge(self, report: Report) -> None:
        print(report.printed, end="")
        fatal = FATAL & report.kinds()
        if self.sanitize is True and report.findings:
            raise SanitizerError(report)
        if self.sanitize is False and fatal:
            raise SanitizerError(report)

    def _read(self, operator: str, result: abi.Result, total: int) -> Report:
        found = [self._finding(each) for each in result.findings[: result.n_findings]]
        covered = by = None
        if self.sanitize and result.coverage_known:
            writes = _writes(result)
            by = writers(writes, total)
            covered, more = coverage(writes, by)
            # what a stopped core left unwritten is not a fault of its own
            found += [
                each for each in more if result.finished or each.kind != "never-written"
            ]
        counters = (
            Counters(*(getattr(each, name) for name, *_ in abi.Counters._fields_))
            for each in result.counters[: self.cores]
        )
        text = c.string_at(result.printed, result.printed_size)
        return Report(
            f"{self.name}.{operator}",
            merged(found),
            covered,
            tuple(counters),
            text.decode(errors="replace"),
            by,
        )

    def _finding(self, raw: abi.Finding) -> Finding:
        file, line = (raw.file or b"").decode(), raw.line
        if not file and raw.frames:
            file, line = self._source_line(raw.frame[: raw.frames])
        return Finding(
            kind=raw.kind.decode(),
            detail=raw.detail.decode(errors="replace"),
            cores=(raw.core,),
            file=file,
            line=line,
            first=raw.first,
            last=raw.last,
            tensor=raw.tensor.decode(),
            count=raw.count,
        )

    def _source_line(self, frames: Sequence[int]) -> tuple[str, int]:
        """The innermost call of the stack that lies in the operator's own source."""
        base, end = _mapping(self.built.kernel.path)
        offsets = [frame - 1 - base for frame in frames if base <= frame < end]
        own = (
            (file, line)
            for file, line in toolchain.lines(Path(self.built.kernel.path), offsets)
            if file in self.built.kernel.files or Path(file).is_file()
            if toolchain.INCLUDE not in Path(file).resolve().parents
            if not file.startswith("/usr/")
        )
        return next(own, ("", 0))

    def _arguments(self, entry: Operator, values: Sequence, data: bool) -> c.Array:
        kinds = entry.kinds
        if len(values) != len(kinds):
            raise ArgumentError(f"{entry.name} takes {len(kinds)} arguments.")
        pairs = zip(kinds, values, strict=True)
        made = [self._argument(kind, value, data) for kind, value in pairs]
        return (abi.Argument * len(made))(*made)

    def _argument(self, kind: str, value, data: bool) -> abi.Argument:
        if kind != "T":
            return abi.number(kind, value)
        if value.dtype not in abi.DTYPES:
            known = ", ".join(str(dtype).removeprefix("torch.") for dtype in abi.DTYPES)
            raise ArgumentError(
                f"A tensor of {value.dtype} cannot enter a custom operator; "
                f"convert it to one of {known}."
            )
        self._check_shape("an argument", [int(size) for size in value.shape])
        return abi.tensor(value, data)

    @staticmethod
    def _check_shape(what: str, sizes: Sequence[int]) -> None:
        if not limits.shape_fits(tuple(sizes)):
            rules = " or ".join(f"{n} dimensions up to {m}" for n, m in limits.SHAPES)
            raise ArgumentError(f"{what} has shape {list(sizes)}; allowed: {rules}.")

    def _registered_name(self) -> str:
        blocks = self._shapes.gpsimd_libraries()
        if blocks != 1:
            raise BuildError(
                f"The shape sources hold {blocks} NEURON_LIBRARY blocks; a model can "
                "have one library, so there must be exactly one."
            )
        return self._shapes.gpsimd_library().decode()

    def _entries(self) -> list[Operator]:
        count = self._shapes.gpsimd_operators()
        if not 1 <= count <= limits.FUNCTIONS:
            raise BuildError(
                f"{self.name} registers {count} functions; a library can have "
                f"1 to {limits.FUNCTIONS}."
            )
        known = toolchain.functions(Path(self.built.kernel.path))
        return [self._entry(index, known) for index in range(count)]

    def _entry(self, index: int, known: dict[str, str]) -> Operator:
        raw = self._shapes.gpsimd_operator(index).contents
        kinds = raw.kinds.decode()
        symbol = _find_kernel(raw.kernel.decode(), kinds, known)
        address = c.cast(getattr(self._kernels, symbol), c.c_void_p).value
        return Operator(index, raw.name.decode(), kinds, raw.call_kernel, address or 0)


def _find_kernel(name: str, kinds: str, known: dict[str, str]) -> str:
    """Symbol of the kernel function that a registration names."""
    same = [text for text in known if text.partition("(")[0] == name]
    for signature in same:
        inside = signature.partition("(")[2].rpartition(")")[0]
        given = [part.strip() for part in inside.split(",")] if inside else []
        fits = len(given) == len(kinds) and all(
            part in _SPELLINGS[kind] for part, kind in zip(given, kinds, strict=True)
        )
        if fits or "(" not in signature:
            return known[signature]
    wanted = ", ".join(sorted(_SPELLINGS[kind])[0] for kind in kinds)
    if same:
        raise BuildError(
            f"The shape function takes ({wanted}), the kernel is {same[0]}: "
            "they must take the same arguments."
        )
    hidden = re.compile(r"gpsimd|^std::|^torch::|^c10::|^get_|^__|^_")
    others = [text for text in known if not hidden.search(text)]
    raise BuildError(
        f"The compute sources define no function {name}({wanted}). "
        f"They define: {', '.join(others) or 'none'}."
    )


def _contiguous(argument):
    return argument.contiguous() if isinstance(argument, torch.Tensor) else argument


def _writes(result: abi.Result) -> Writes:
    """The write log as arrays."""
    count = result.n_writes
    if not count:
        none = np.zeros(0, np.int64)
        return Writes(none, none, none, none, ())
    layout = np.dtype(
        [
            ("core", "i4"),
            ("line", "i4"),
            ("file", "u8"),
            ("first", "i8"),
            ("last", "i8"),
        ]
    )
    size = count * c.sizeof(abi.Write)
    log = np.frombuffer(c.string_at(result.writes, size), layout)
    names = {
        int(address): c.string_at(int(address)).decode() if address else ""
        for address in np.unique(log["file"])
    }
    files = tuple(names[int(address)] for address in log["file"])
    return Writes(log["core"], log["line"], log["first"], log["last"], files)


def _mapping(path: str) -> tuple[int, int]:
    """Where this process has mapped a library."""
    spans = [
        [int(part, 16) for part in line.split()[0].split("-")]
        for line in Path("/proc/self/maps").read_text().splitlines()
        if line.endswith(path)
    ]
    return min(span[0] for span in spans), max(span[1] for span in spans)
