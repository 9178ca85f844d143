"""The documents of the older orchestrator, made from a store."""

import json
from pathlib import Path
from typing import Any

import pytest

from mesocosm.compat.viewer_data import NAME, NO_MEAN, SYNTHETIC, shown_runs, viewer_data, write_viewer_data
from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.group import Outcome, OutcomeStatus, RunGroup
from mesocosm.core.ids import digest, new_id
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.store import Store, open_store

KEYS = {
    *("generated_at", "runs", "run_groups", "latest_scores", "benchmark_summary", "model_summary", "agent_summary"),
    *("calibration_summary", "runs_total", "run_groups_total"),
}


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """Return an empty store in a results directory."""
    opened = open_store(tmp_path / "results")
    yield opened
    opened.close()


def add(store: Store, score: float | None, *, at: float, higher: bool = True, **given: Any) -> Run:
    """Add a run that ended a second after `at`."""
    model = given.setdefault("model", "groq/small")
    spec = RunSpec(BenchmarkRef("benchmark", given.get("benchmark", "words")), ModelSettings(model))
    metric = MetricResult("accuracy", "mean", score, None, None, "", 10, 10, 10, higher_is_better=higher, primary=True)
    fields: dict[str, Any] = {
        "id": new_id(),
        "signature": digest([given.get("benchmark"), model]),
        "benchmark": "words",
        "benchmark_title": "Words",
        "benchmark_version": "1",
        "benchmark_digest": "d",
        "kind": "rollout",
        "agent": "chat",
        "spec": spec,
        "status": RunStatus.FINISHED,
        "counts": Counts(10, completed=10),
        "metrics": (metric,),
        "created_at": at,
        "started_at": at,
        "ended_at": at + 1.0,
        "provenance": {"command": ["mesocosm", "bench"], "bench": {"artifacts": ["/a"], "unit": "ratio"}},
    }
    return store.runs.add(Run(**(fields | given)))


def test_an_empty_store_has_every_key(store: Store) -> None:
    data = viewer_data(store)

    assert set(data) == KEYS
    assert data["generated_at"] is None
    assert [data[key] for key in sorted(KEYS - {"generated_at", "runs_total", "run_groups_total"})] == [[]] * 7


def test_runs_and_groups_have_their_columns_decoded(store: Store) -> None:
    store.groups.add(RunGroup("rg_1", 1_000.0, 1_500.0, request={"all": True}, benchmarks=("words",)))
    run = add(store, 0.5, at=1_200.0, group_id="rg_1")

    data = viewer_data(store)

    (row,), (group,) = data["runs"], data["run_groups"]
    assert (row["run_id"], row["command"], row["artifacts"]) == (run.id, ["mesocosm", "bench"], ["/a"])
    assert (row["metrics"]["accuracy"], row["higher_is_better"], row["total_prompt_tokens"]) == (0.5, True, 0)
    assert (group["request"], group["benchmarks"]) == ({"all": True}, ["words"])
    assert not [name for name in (*row, *group) if name.endswith("_json")]
    assert data["generated_at"] == "1970-01-01T00:25:00.000+00:00"


def test_models_do_not_overwrite_each_other_in_the_latest_scores(store: Store) -> None:
    add(store, 0.9, at=1_000.0, model="groq/large")
    add(store, 0.3, at=1_100.0, model="groq/small")
    newest = add(store, 0.4, at=1_200.0, model="groq/small")
    add(store, None, at=1_300.0, model="groq/small", status=RunStatus.FAILED)
    add(store, 0.1, at=900.0, model="groq/small")

    latest = viewer_data(store)["latest_scores"]

    assert [(row["provider"], row["model"], row["score"]) for row in latest] == [
        ("groq", "large", 0.9),
        ("groq", "small", 0.4),
    ]
    assert latest[1]["run_id"] == newest.id


def test_the_best_score_of_a_benchmark_follows_its_direction(store: Store) -> None:
    for score in (3.0, 2.0, 4.0):
        best = add(store, score, at=1_000.0 - score, benchmark="golf", higher=False)
        if score == 2.0:
            kept = best
    add(store, 0.2, at=1_000.0)
    latest = add(store, None, at=2_000.0, status=RunStatus.FAILED, model="openai/x")

    golf, words = viewer_data(store)["benchmark_summary"]

    assert (golf["benchmark_id"], golf["best_score"], golf["best_run_id"]) == ("golf", 2.0, kept.id)
    assert golf["higher_is_better"] is False
    assert (words["runs"], words["succeeded_runs"], words["failed"], words["best_score"]) == (2, 1, 1, 0.2)
    assert (words["latest_run_id"], words["latest_provider"], words["latest_model"]) == (latest.id, "openai", "x")


def test_scores_of_different_benchmarks_are_not_averaged(store: Store) -> None:
    add(store, 0.2, at=1_000.0)
    add(store, 0.4, at=1_100.0)
    add(store, 300.0, at=1_200.0, benchmark="vending", model="openai/x")
    add(store, 0.5, at=1_300.0, model="openai/x")

    data = viewer_data(store)

    small, other = data["model_summary"]
    assert (small["model_key"], small["average_score"], small["best_score"]) == ("groq/small", pytest.approx(0.3), 0.4)
    assert (other["average_score"], other["best_score"], other["average_score_reason"]) == (None, None, NO_MEAN)
    assert [(row["agent"], row["benchmarks"], row["average_score"]) for row in data["agent_summary"]] == [
        ("chat", 2, None)
    ]


def test_skipped_and_incompatible_rows_are_counted_beside_the_runs(store: Store) -> None:
    run = add(store, 0.2, at=1_000.0)
    store.groups.add(RunGroup("rg_1", 2_000.0))
    again = Outcome("rg_1", 0, "words", "words", OutcomeStatus.SKIPPED, "groq", "small", "chat", run_id=run.id, at=2e3)
    store.groups.save_outcome(again)
    store.groups.save_outcome(
        Outcome("rg_1", 1, "words", "words", OutcomeStatus.INCOMPATIBLE, "groq", "small", "chat", at=2e3)
    )

    data = viewer_data(store)

    (words,) = data["benchmark_summary"]
    assert (words["runs"], words["skipped"], words["incompatible"]) == (1, 1, 1)
    assert words["latest_run_id"] == run.id
    assert (len(data["runs"]), data["runs_total"]) == (3, 3)


def test_built_in_models_calibrate_a_benchmark(store: Store) -> None:
    for number, model in enumerate(SYNTHETIC):
        add(store, number / 2, at=1_000.0, model=f"builtin/{model}")
    add(store, 0.25, at=1_100.0, benchmark="golf", model="builtin/random")
    add(store, 0.75, at=1_100.0, benchmark="solved", model="groq/oracle")

    golf, words = viewer_data(store)["calibration_summary"]

    assert words == {
        "benchmark_id": "words",
        "scores": {"random": 0.0, "oracle": 0.5, "empty": 1.0},
        "statuses": dict.fromkeys(SYNTHETIC, "succeeded"),
        "complete": True,
    }
    assert (golf["benchmark_id"], golf["complete"], golf["statuses"]["oracle"]) == ("golf", False, "missing")


def test_the_file_is_the_document_and_equal_results_make_equal_files(store: Store, tmp_path: Path) -> None:
    store.groups.add(RunGroup("rg_1", 1_000.0))
    for number in range(3):
        add(store, number / 4, at=1_000.0 + number)

    path = write_viewer_data(store, tmp_path / "out")
    first = path.read_bytes()

    assert path == tmp_path / "out" / NAME
    assert json.loads(first) == viewer_data(store)
    assert write_viewer_data(store, tmp_path / "out").read_bytes() == first
    assert [found.name for found in path.parent.iterdir()] == [NAME]


def test_a_file_that_cannot_be_finished_leaves_the_old_one(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_viewer_data(store, tmp_path)
    before = path.read_bytes()
    add(store, 0.5, at=1_000.0)

    def broken(_limit: int) -> Any:
        yield {"run_id": "x", "higher_is_better": None}
        raise OSError("no space left")

    monkeypatch.setattr(store.legacy_views, "newest_runs", broken)
    with pytest.raises(OSError, match="no space left"):
        write_viewer_data(store, tmp_path)

    assert path.read_bytes() == before
    assert not list(tmp_path.glob(f".{NAME}*"))


def test_a_place_that_is_a_file_is_refused(store: Store, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")

    with pytest.raises(UsageError, match="cannot be written"):
        write_viewer_data(store, tmp_path / "taken")


def test_only_the_newest_rows_are_listed_but_all_are_counted(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mesocosm.compat.viewer_data.RUNS", 2)
    ids = [add(store, 0.5, at=1_000.0 + number).id for number in range(4)]

    data = viewer_data(store)

    assert [row["run_id"] for row in data["runs"]] == [ids[3], ids[2]]
    assert (data["runs_total"], data["benchmark_summary"][0]["runs"]) == (4, 4)


@pytest.mark.parametrize("source", ["store", "directory", "file", "text", "url"])
def test_the_list_of_runs_is_the_same_from_wherever_it_is_asked(store: Store, source: str) -> None:
    ids = [add(store, 0.5, at=1_000.0, agent=agent).id for agent in ("b", "a")]
    path = Path(store.place)
    places = {"store": store, "directory": path.parent, "file": path, "text": str(path), "url": f"sqlite:///{path}"}

    rows = shown_runs(places[source], limit=5)  # type: ignore[arg-type]

    assert [(row["agent"], row["run_id"]) for row in rows] == [("a", ids[1]), ("b", ids[0])]
    assert rows[0] == {
        "run_id": ids[1],
        "started_at": "1970-01-01T00:16:40.000+00:00",
        "benchmark_id": "words",
        "agent": "a",
        "provider": "groq",
        "model": "small",
        "status": "succeeded",
        "score": 0.5,
        "missing": {},
    }


def test_an_older_file_is_upgraded_before_its_runs_are_listed(tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    path = tmp_path / "results.sqlite"
    with closing(sqlite3.connect(path)) as file:
        released = Path(__file__).parents[1] / "store" / "released" / "0002.sqlite.sql"
        file.executescript(released.read_text())

    assert [row["benchmark_id"] for row in shown_runs(path)] == ["words"]


def test_a_place_without_results_is_said_to_have_none(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="there are no results"):
        shown_runs(tmp_path / "nothing")
