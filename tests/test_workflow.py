"""The workflow of the repository's host runs what a contributor runs, on every supported Python."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
FORMS = sorted(ROOT.glob(".github/ISSUE_TEMPLATE/*.yml"))


@pytest.fixture(scope="module")
def workflow() -> Any:
    return yaml.safe_load((ROOT / ".github/workflows/check.yml").read_text(encoding="utf-8"))


def test_the_whole_check_runs_on_each_python_since_the_oldest_supported(workflow: Any) -> None:
    job = workflow["jobs"]["check"]
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=3.")
    minors = [int(version.removeprefix("3.")) for version in job["strategy"]["matrix"]["python"]]
    assert minors == list(range(int(oldest), minors[-1] + 1))
    assert ".ci/run" in [step.get("run") for step in job["steps"]]


def test_targets_that_it_makes_exist(workflow: Any) -> None:
    steps = [step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]]
    made = {word for run in steps for word in re.findall(r"^make (\S+)", run, re.MULTILINE)}
    assert made
    assert made <= set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_it_may_only_read(workflow: Any) -> None:
    assert workflow["permissions"] == {"contents": "read"}
    assert not [name for name, job in workflow["jobs"].items() if "permissions" in job]


def test_forms_for_issues_ask_for_something() -> None:
    forms = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in FORMS if path.name != "config.yml"]
    assert forms
    assert [form["name"] for form in forms if not any("validations" in part for part in form["body"])] == []
