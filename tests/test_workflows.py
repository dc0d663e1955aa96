"""The workflows have the form that GitHub expects; they were never run there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PATHS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


class Strict(yaml.SafeLoader):
    """A key that is given twice is an error; YAML would take the last."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"twice in one mapping: {keys}"
        return super().construct_mapping(node, deep)


@pytest.fixture(params=PATHS, ids=[path.stem for path in PATHS])
def workflow(request):
    loaded = yaml.load(request.param.read_text(encoding="utf-8"), Strict)
    loaded["on"] = loaded.pop(True)  # YAML 1.1 reads the key `on` as true
    return loaded


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_there_is_a_workflow():
    assert PATHS


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_it_has_the_form_of_a_workflow(path):
    """By the schema of SchemaStore, which check-jsonschema brings along."""
    command = ["-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run(
        [sys.executable, *command, str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_its_jobs_end_and_need_jobs_that_exist(workflow):
    for job in workflow["jobs"].values():
        assert "timeout-minutes" in job
        assert set(job.get("needs", "").split()) <= set(workflow["jobs"])
    for step in steps(workflow):
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "a/b@v1"))


def test_its_expressions_are_closed_and_name_what_exists(workflow):
    text = yaml.dump(workflow)
    assert text.count("${{") == len(re.findall(r"\$\{\{[^{}]+\}\}", text))
    matrices = [
        j["strategy"]["matrix"] for j in workflow["jobs"].values() if "strategy" in j
    ]
    known = {key for matrix in matrices for row in matrix["include"] for key in row}
    assert set(re.findall(r"matrix\.(\w+)", text)) <= known


def test_what_others_can_write_does_not_reach_a_shell(workflow):
    for step in steps(workflow):
        assert "${{" not in step.get("run", ""), "pass it through env"


def test_its_shell_is_a_shells(workflow):
    for step in steps(workflow):
        done = subprocess.run(
            ["bash", "-n"], input=step.get("run", ""), text=True, capture_output=True
        )
        assert done.returncode == 0, done.stderr


def test_it_runs_every_notebook_on_its_chip_and_no_other(workflow):
    rows = workflow["jobs"]["run"]["strategy"]["matrix"]["include"]
    assert {row["chip"] for row in rows} == {"inf2", "c8g"}
    asked = {number for row in rows for number in row["notebooks"].split()}
    assert {name[:2] for name in NOTEBOOKS} <= asked
    assert all((ROOT / row["requirements"]).is_file() for row in rows)


def test_it_keeps_its_results_and_says_that_it_is_untested(workflow):
    run = workflow["jobs"]["run"]["steps"]
    uploads = [
        s for s in run if s.get("uses", "").startswith("actions/upload-artifact")
    ]
    assert [s["if"] for s in uploads] == ["always()"]
    assert any("helpers compare" in s.get("run", "") for s in run)
    assert all("UNTESTED HERE" in path.read_text(encoding="utf-8") for path in PATHS)
