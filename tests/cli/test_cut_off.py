"""Commands that change what is stored, cut off at every commit: the same command again completes the work."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, event
from sqlalchemy.engine import Engine
from tests.cli.conftest import Invoke, Played

from mesocosm.core.run import RESCORING, Run, RunStatus
from mesocosm.engine import rescoring
from mesocosm.interop.bundle import Bundle
from mesocosm.store import Store, open_store
from mesocosm.store.bundle import Bundles
from mesocosm.store.episodes import Episodes

Command = Callable[[], Any]
CHANGING = frozenset({"rescored_at"})


@contextmanager
def dying(at: int, place: Path) -> Iterator[list[int]]:
    """Let the commit with this number, and every later one, of the results at `place` fail; yields what counts them."""
    seen: list[int] = []

    def commit(connection: Connection) -> None:
        # Threads of other tests may still commit to stores of their own.
        if str(place) not in (connection.engine.url.database or ""):
            return
        seen.append(len(seen) + 1)
        if len(seen) >= at:
            raise KeyboardInterrupt

    event.listen(Engine, "commit", commit)
    try:
        yield seen
    finally:
        event.remove(Engine, "commit", commit)


def held(place: Path) -> Any:
    """Return all that is stored there, but when it was rescored."""
    store = open_store(place)
    try:
        return [_run(store, run_id) for run_id in sorted(store.runs.ids())]
    finally:
        store.close()


def _run(store: Store, run_id: str) -> Any:
    run = store.runs.get(run_id)
    run.provenance = {name: value for name, value in run.provenance.items() if name not in CHANGING}
    run.heartbeat_at = None
    damages = store.verification.check_run(run_id).damages
    group = store.groups.outcomes(run.group_id) if run.group_id else ()
    return run, list(store.bundles.entries(run_id)), list(store.blobs.of_run(run_id)), group, damages


def completes(command: Command, place: Path, before: Path | None) -> int:
    """Cut `command` off at each of its commits, repeat it, and compare; return how many there are."""

    def fresh() -> None:
        shutil.rmtree(place, ignore_errors=True)
        if before is not None:
            shutil.copytree(before, place)

    fresh()
    with dying(10**9, place) as seen:
        assert command().code == 0
    assert seen
    wanted = held(place)
    for at in range(1, len(seen) + 1):
        fresh()
        with dying(at, place):
            assert command().code != 0
        again = command()
        assert again.code == 0, (at, again.err)
        assert held(place) == wanted, at
    return len(seen)


@pytest.fixture(scope="module")
def group(mesocosm: Invoke, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a group of two benchmarks."""
    place = tmp_path_factory.mktemp("group") / "results"
    words = ("--benchmarks", "context-bench,eliza-format", "--model", "builtin/oracle", "--max-examples", "4")
    assert mesocosm("bench", "run", *words, "--quiet", "--results-dir", place).code == 0
    return place


def test_a_bundle_of_two_runs_is_imported_whole_by_the_same_command(
    mesocosm: Invoke, group: Path, tmp_path: Path
) -> None:
    file, there = tmp_path / "group.zip", tmp_path / "there"
    ids = [run["id"] for run in mesocosm("run", "list", "--json", "--results-dir", group).document["items"]]
    assert mesocosm("export", *ids, "-o", file, "--results-dir", group).code == 0
    assert completes(lambda: mesocosm("import", file, "--results-dir", there), there, None) > 3


def test_a_replay_is_imported_whole_by_the_same_command(mesocosm: Invoke, played: Played, tmp_path: Path) -> None:
    file, there = tmp_path / "replay.json", tmp_path / "there"
    assert mesocosm("run", "export", "last", "-o", file, *played.there).code == 0
    assert completes(lambda: mesocosm("import", file, "--results-dir", there), there, None) > 1


@pytest.fixture
def other_rules(played: Played, tmp_path: Path) -> Path:
    """The manifest of the same environment with another metric."""
    place = tmp_path / "other"
    shutil.copytree(played.manifest.parent, place)
    document = json.loads(played.manifest.read_text())
    document["scoring"] = {
        "primary_metric": "total",
        "metrics": [{"name": "total", "type": "episode_reward", "aggregation": "mean", "higher_is_better": True}],
    }
    (place / "benchanything.json").write_text(json.dumps(document))
    return place / "benchanything.json"


def test_a_run_is_rescored_whole_by_the_same_command(
    mesocosm: Invoke, played: Played, other_rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescoring, "GROUP", 2)
    there = tmp_path / "there"
    words = ("run", "rescore", played.run_id, "--manifest", other_rules, "--results-dir", there)
    assert completes(lambda: mesocosm(*words), there, played.results) > 4


def test_a_run_whose_rescoring_was_cut_off_passes_no_gate_and_has_no_rank(
    mesocosm: Invoke, mine: Played, other_rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(self: Episodes, run_id: str, scored: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Episodes, "save_scores", cut_off)
        assert mesocosm("run", "rescore", "last", "--manifest", other_rules, *mine.there).code != 0

    run: Run = mine.run
    assert run.provenance[RESCORING] is True
    assert run.doubt
    assert "that was cut off" in mesocosm("run", "show", "last", *mine.there).out
    gate = mesocosm("gate", "last", "--fail-if", "score<0.5", *mine.there)
    assert (gate.code, "it is being rescored, or that was cut off" in gate.out) == (3, True)
    verified = mesocosm("verify", *mine.there)
    assert (verified.code, "its scores are of two kinds" in verified.out) == (1, True)
    file, there = mine.results / "cut off.zip", ("--results-dir", mine.results / "there")
    assert mesocosm("export", "last", "-o", file, *mine.there).code == 0
    assert mesocosm("import", file, *there).code == 0
    assert "that was cut off" in mesocosm("run", "show", "last", *there).out


@pytest.mark.parametrize("suffix", ["zip", "json"])
def test_a_run_that_was_killed_when_it_went_on_is_imported_with_the_numbers_of_its_episodes(
    mesocosm: Invoke, mine: Played, suffix: str
) -> None:
    whole = mine.run
    store = open_store(mine.results)
    stale = tuple(msgspec.structs.replace(one, value=0.1, n_scored=1) for one in whole.metrics)
    store.runs.save(msgspec.structs.replace(whole, status=RunStatus.STOPPED, metrics=stale))
    store.close()
    file = mine.results / f"killed.{suffix}"
    export = ("export",) if suffix == "zip" else ("run", "export")
    assert mesocosm(*export, "last", "-o", file, *mine.there).code == 0
    assert mesocosm("verify", *mine.there).code == 0
    there = Played(mine.manifest, mine.results / "there", whole.id)
    assert mesocosm("import", file, *there.there).code == 0
    assert there.run.metrics == whole.metrics


def test_a_run_is_deleted_whole_by_the_same_command(mesocosm: Invoke, group: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    ids = [run["id"] for run in mesocosm("run", "list", "--json", "--results-dir", group).document["items"]]

    def delete() -> Any:
        done = mesocosm("run", "delete", ids[0], "--yes", "--results-dir", there)
        gone = done.code == 2 and "there is no run" in done.err
        return type(done)(0, done.out, done.err) if gone else done

    assert completes(delete, there, group) > 1


def test_an_export_that_is_cut_off_leaves_the_file_as_it_was(
    mesocosm: Invoke, played: Played, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "run.zip"
    assert mesocosm("export", "last", "-o", file, *played.there).code == 0
    before = file.read_bytes()

    def entries(self: Bundles, run_id: str) -> Iterator[Any]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Bundles, "entries", entries)
        assert mesocosm("export", "last", "-o", file, *played.there).code != 0
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["run.zip"]
    with Bundle(file) as bundle:
        bundle.check()
