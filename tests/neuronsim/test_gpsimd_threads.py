"""The host runtime's eight threads race nowhere, says ThreadSanitizer."""

import shutil
import subprocess
from pathlib import Path

import pytest

from neuronsim.gpsimd import toolchain

DRIVER = Path(__file__).parent / "operators" / "race_driver.cpp"


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """Compile and run the driver, with or without a race in its operator."""
    folder = tmp_path_factory.mktemp("threads")

    def run(*flags: str) -> subprocess.CompletedProcess:
        program = folder / f"driver{len(flags)}"
        build = [toolchain.compiler(), "-std=c++17", "-O1", "-g1", "-pthread"]
        build += ["-fsanitize=thread", f"-I{toolchain.INCLUDE}", *flags, str(DRIVER)]
        build += [str(source) for source in toolchain.RUNTIME]
        subprocess.run([*build, "-ldl", "-o", str(program)], check=True)
        # ThreadSanitizer of GCC 12 needs the addresses that fixed layout gives
        fixed = ["setarch", "-R"] if shutil.which("setarch") else []
        return subprocess.run([*fixed, program], capture_output=True, text=True)

    return run


def test_a_clean_operator_has_no_data_race(checked):
    done = checked()
    assert "WARNING: ThreadSanitizer" not in done.stderr, done.stderr
    assert (done.returncode, done.stdout) == (0, "1000\n"), done.stderr


def test_the_check_sees_a_race_when_there_is_one(checked):
    assert "WARNING: ThreadSanitizer: data race" in checked("-DRACE").stderr
