"""Groups travel with the runs that they made."""

import io
import zipfile
from pathlib import Path

import pytest

from mesocosm.core.failure import UsageError
from mesocosm.core.group import Outcome, OutcomeStatus, RunGroup
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Run, RunSpec
from mesocosm.interop.bundle import GROUPS, Bundle, write_bundle
from mesocosm.store import Store, open_store

ALIEN = (
    b'{"group":{"id":"rg_1","created_at":1.0},"outcomes":'
    b'[{"group_id":"rg_2","position":0,"benchmark":"a","directory":"a","status":"skipped"}]}\n'
)


def run(name: str, group_id: str) -> Run:
    """Return a run of a group."""
    spec = RunSpec(BenchmarkRef("benchmark", name), ModelSettings("groq/small"))
    return Run(
        id=f"019a0000-{name}",
        signature=name,
        benchmark=name,
        benchmark_title=name,
        benchmark_version="1",
        benchmark_digest="d",
        kind="rollout",
        model="groq/small",
        agent="chat",
        spec=spec,
        group_id=group_id,
    )


def outcome(position: int, status: OutcomeStatus, run_id: str = "") -> Outcome:
    return Outcome("rg_1", position, "words", "words", status, run_id=run_id, at=20.0)


@pytest.fixture
def source(tmp_path: Path) -> Store:
    """Return a store with a group of two runs, a skipped and an incompatible benchmark, and a run without a group."""
    store = open_store(tmp_path / "source.sqlite")
    store.groups.add(RunGroup("rg_1", 10.0, 30.0, request={"all": True}, benchmarks=("a", "b", "c", "d")))
    store.runs.add(run("aaaa", "rg_1"))
    store.runs.add(run("bbbb", "rg_1"))
    store.runs.add(run("cccc", ""))
    for one in (
        outcome(0, OutcomeStatus.SUCCEEDED, "019a0000-aaaa"),
        outcome(1, OutcomeStatus.SUCCEEDED, "019a0000-bbbb"),
        outcome(2, OutcomeStatus.SKIPPED, "019a0000-bbbb"),
        outcome(3, OutcomeStatus.INCOMPATIBLE),
    ):
        store.groups.save_outcome(one)
    return store


def bundled(source: Store, path: Path, *names: str) -> Path:
    with path.open("wb") as file:
        write_bundle(file, [source.bundles.run(f"019a0000-{name}") for name in names])
    return path


def test_a_group_travels_with_the_outcomes_of_the_runs_in_the_bundle(source: Store, tmp_path: Path) -> None:
    path = bundled(source, tmp_path / "one.zip", "aaaa", "cccc")

    target = open_store(tmp_path / "target.sqlite")
    with Bundle(path) as bundle:
        bundle.check()
        for run_id in bundle.head.runs:
            target.bundles.insert(bundle.run(run_id), bundle.entries(run_id))
        (grouped,) = bundle.groups()
        target.groups.insert(grouped.group, grouped.outcomes)

    assert target.groups.get("rg_1") == source.groups.get("rg_1")
    assert target.groups.outcomes("rg_1") == (
        outcome(0, OutcomeStatus.SUCCEEDED, "019a0000-aaaa"),
        outcome(2, OutcomeStatus.SKIPPED),
        outcome(3, OutcomeStatus.INCOMPATIBLE),
    )


def test_runs_without_a_group_make_a_bundle_without_groups(source: Store, tmp_path: Path) -> None:
    with Bundle(bundled(source, tmp_path / "one.zip", "cccc")) as bundle:
        assert list(bundle.groups()) == []


def changed(path: Path, groups: bytes | None) -> Path:
    """Write a bundle again with other groups, or with none at all."""
    content = io.BytesIO(path.read_bytes())
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            if name != GROUPS:
                new.writestr(name, old.read(name))
        if groups is not None:
            new.writestr(GROUPS, groups)
    return path


def test_a_bundle_of_an_earlier_version_has_no_groups(source: Store, tmp_path: Path) -> None:
    with Bundle(changed(bundled(source, tmp_path / "one.zip", "aaaa"), None)) as bundle:
        bundle.check()
        assert list(bundle.groups()) == []


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        (b'{"group": 1}\n', r"groups\.jsonl line 1"),
        (
            ALIEN,
            r"groups\.jsonl line 1: an outcome belongs to another group",
        ),
    ],
)
def test_damaged_groups_are_found_before_anything_is_taken_in(
    source: Store, tmp_path: Path, groups: bytes, told: str
) -> None:
    path = changed(bundled(source, tmp_path / "one.zip", "aaaa"), groups)

    with Bundle(path) as bundle, pytest.raises(UsageError, match=told):
        bundle.check()
