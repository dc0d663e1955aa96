"""The second model by parameter: notebooks 10 to 12 with a small ViT."""

import pytest

from helpers import results

EXPECTED = {  # notebook -> (a race of it, what has no result there, and why)
    "10_graviton_memory_and_precision": ("memory_and_precision", {}),
    "11_graviton_compile": (
        "compile",
        {"batch norm folded": "this model has no batch norm to fold"},
    ),
    "12_graviton_multiprocess": ("streams", {"one dies": "killed (SIGKILL)"}),
}


@pytest.mark.parametrize("notebook", EXPECTED)
def test_the_notebook_races_the_vit(run_command, notebook):
    name, reasons = EXPECTED[notebook]
    ran = run_command(notebook, "--profile", "smoke", "-p", "model=vit")
    assert ran.code == 0, ran.text
    race = results.load(ran.folder / notebook / f"{name}.race.json")
    assert race.model == "vit_tiny_64px"
    failures = {o.name: o.failure for o in race.outcomes if o.failure}
    assert failures.keys() <= reasons.keys()  # one core alone starts no second process
    for step, reason in failures.items():
        assert reasons[step] in reason
    done = [o for o in race.outcomes if not o.failure]
    assert len(done) > 1
    assert all(o.throughput > 0 and o.drift.sqnr_db > 60 for o in done)
