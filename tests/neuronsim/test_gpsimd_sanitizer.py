"""Each kind of finding, by a small operator that commits exactly that fault."""

import faulthandler
import re
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from neuronsim import gpsimd
from neuronsim.gpsimd.findings import Writes, coverage, writers

OPERATORS = Path(__file__).parent / "operators"

# operator → (kind of the one finding, cores, a word of its explanation)
EVERY = tuple(range(8))
MULTICORE = {
    "clean": (None, (), ""),
    "remainder_dropped": ("never-written", (), "4 of 100"),
    "written_by_two": ("written-twice", (0, 3), "[0, 4)"),
    "beyond_the_end": ("out-of-bounds", (7,), "beyond the 100 elements"),
    "leak": ("leak", EVERY, "100 bytes"),
    "overrun": ("tcm-overflow", EVERY, "byte 64 of a TCM buffer of 64 bytes"),
    "transfer_too_large": ("tcm-overflow", EVERY, "68 bytes does not fit the 64"),
    "null_transfer": ("null", EVERY, "tcm_malloc(16385) returned null"),
    "null_write": ("null", EVERY, "16384 of 16384 bytes were free"),
    "returned_only": ("no-destination", EVERY, "get_dst_tensor"),
}
MORE = {
    "element_accessor": ("forbidden-accessor", EVERY, "element accessor"),
    "stream_accessor": ("forbidden-accessor", EVERY, "stream accessor"),
    "used_after_free": ("use-after-free", EVERY, "freed"),
    "freed_twice": ("bad-free", EVERY, "was freed before"),
    "before_the_start": ("tcm-overflow", EVERY, "before the start"),
    "stack_buffer": ("not-tcm", EVERY, "tcm_malloc"),
    "wrong_element": ("dtype", EVERY, "elements of 2 bytes"),
    "writes_input": ("input-written", (), "its own input"),
    "aborts": ("crash", EVERY, "Aborted"),
    "asserts": ("check", EVERY, "x.dim() == 7"),
}
SINGLE = {
    "wrong_shape": ("shape", (0,), "[101] of Float, the shape function says [100]"),
    "wrong_type": ("shape", (0,), "of Int"),
    "half_written": ("never-written", (), "[50, 100)"),
    "index_beyond": ("out-of-bounds", (0,), "index 100 in dimension 0"),
    "wrong_accessor": ("dtype", (0,), "an accessor of Int"),
    "wrong_dimensions": ("dimensions", (0,), "2 dimensions"),
    "stream_overread": ("out-of-bounds", (0,), "past its end"),
    "incoherent": ("coherence", (0,), "another stream"),
    "closed_stream": ("closed-stream", (0,), "write to a stream that is closed"),
    "throws": ("exception", (0,), "vector"),
}
LIBRARIES = {
    "multicore": (MULTICORE, True),
    "multicore_more": (MORE, True),
    "single": (SINGLE, False),
}
CASES = [(source, name) for source, (table, _) in LIBRARIES.items() for name in table]


@pytest.fixture(scope="session")
def faulty(tmp_path_factory):
    """The three libraries of faulty operators, built once."""
    folder = tmp_path_factory.mktemp("faulty")
    loaded = {}
    for source, (table, multicore) in LIBRARIES.items():
        entries = " ".join(f"OPERATOR({name})" for name in table)
        shape = (OPERATORS / "shape.cpp").read_text().replace("OPERATORS\n", entries)
        target = folder / f"{source}_shape.cpp"
        target.write_text(shape.replace("LIBRARY, m", f"faulty_{source}, m"))
        loaded[source] = gpsimd.load(
            name=source,
            compute_srcs=[OPERATORS / f"{source}.cpp"],
            shape_srcs=[target],
            build_directory=folder,
            multicore=multicore,
            sanitize="report",
        )
    return loaded


def run(library, name):
    library.run(name, [torch.arange(100, dtype=torch.float32)])
    return library.report


@pytest.mark.parametrize(("source", "name"), CASES)
def test_a_fault_gives_its_finding_and_no_other(faulty, source, name):
    kind, _, explanation = LIBRARIES[source][0][name]
    report = run(faulty[source], name)
    expected = {kind} if kind else set()
    if name == "returned_only":  # nothing reached the output either
        expected |= {"never-written"}
    assert report.kinds() == expected, report
    assert explanation in str(report)


@pytest.mark.parametrize(("source", "name"), CASES)
def test_a_finding_names_the_cores(faulty, source, name):
    kind, cores, _ = LIBRARIES[source][0][name]
    found = [each for each in run(faulty[source], name).findings if each.kind == kind]
    if cores:
        assert found[0].cores == cores


def faulty_lines(source: str) -> list[tuple[str, int]]:
    """Operators of a source whose faulty line is marked, with that line."""
    marks, operator = [], ""
    text = (OPERATORS / f"{source}.cpp").read_text()
    for number, line in enumerate(text.splitlines(), start=1):
        if found := re.match(r"torch::Tensor (\w+)\(", line):
            operator = found[1]
        if "// FAULT" in line:
            marks.append((operator, number))
    return marks


@pytest.mark.parametrize(
    ("source", "name", "line"),
    [(source, *mark) for source in LIBRARIES for mark in faulty_lines(source)],
)
def test_a_finding_names_the_faulty_line(faulty, source, name, line):
    finding = run(faulty[source], name).findings[0]
    assert (Path(finding.file).name, finding.line) == (f"{source}.cpp", line)


def test_an_out_of_bounds_transfer_names_its_elements(faulty):
    finding = run(faulty["multicore"], "beyond_the_end").findings[0]
    assert (finding.first, finding.last) == (98, 103)


def test_an_input_stays_as_it_was_when_the_operator_writes_to_it(faulty):
    given = torch.arange(100, dtype=torch.float32)
    faulty["multicore_more"].run("writes_input", [given])
    assert torch.equal(given, torch.arange(100, dtype=torch.float32))


def test_what_is_never_written_reads_as_nan(faulty):
    output = faulty["multicore"].run("remainder_dropped", [torch.ones(100)])
    assert torch.isnan(output[96:]).all()
    assert torch.equal(output[:96], torch.ones(96))


def test_findings_raise_by_default(faulty):
    library = faulty["multicore"]
    library.sanitize = True
    try:
        with pytest.raises(gpsimd.SanitizerError, match=r"multicore\.cpp:\d+ · leak"):
            run(library, "leak")
    finally:
        library.sanitize = "report"


def test_a_crash_raises_even_without_the_sanitiser(faulty):
    library = faulty["multicore"]
    library.sanitize = False
    try:
        run(library, "leak")
        with pytest.raises(gpsimd.SanitizerError, match="null"):
            run(library, "null_write")
    finally:
        library.sanitize = "report"


def test_the_process_keeps_its_own_fault_handlers(faulty):
    before = faulthandler.is_enabled(), signal.getsignal(signal.SIGFPE)
    run(faulty["multicore"], "null_write")
    assert (faulthandler.is_enabled(), signal.getsignal(signal.SIGFPE)) == before


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 29), st.integers(1, 12))),
    st.integers(30, 60),
)
def test_writers_equal_a_count_by_hand(ranges, total):
    """ranges: (core, first element, length)."""
    table = np.array(ranges, np.int64).reshape(-1, 3)
    core, first, last = table[:, 0], table[:, 1], table[:, 1:].sum(1)
    last = np.minimum(last, total)
    by_core = np.zeros((4, total), bool)
    for c, a, b in zip(core, first, last, strict=True):
        by_core[c, a:b] = True
    writes = Writes(core, core, first, last, ("k.cpp",) * len(ranges))
    assert np.array_equal(writers(writes, total), by_core.sum(0))


def test_coverage_counts_cores_not_writes():
    columns = np.array(
        [(0, 5, 0, 4), (0, 5, 2, 6), (1, 5, 5, 8), (1, 9, 9, 10)], dtype=np.int64
    )
    core, line, first, last = columns.T
    writes = Writes(core, line, first, last, ("k.cpp",) * 4)
    counts, findings = coverage(writes, writers(writes, 12))
    assert (counts.written, counts.twice) == (9, 1)
    missing, twice = findings
    assert "[8, 9), [10, 12)" in missing.detail
    assert (twice.first, twice.last, twice.cores) == (5, 6, (0, 1))
