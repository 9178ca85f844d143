"""Queries of those who used the older database give the same kind of answers here."""

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text, update

from mesocosm.core.group import Outcome, OutcomeStatus, RunGroup
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Run, RunSpec, RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.store import Store
from mesocosm.store.schema import runs
from mesocosm.store.views import INTERRUPTED

if TYPE_CHECKING:
    from tests.store.conftest import Samples


def words(text: str) -> list[str]:
    """Return the words of a text."""
    return text.split()


RUN_COLUMNS = words("""
    run_id run_group_id benchmark_id benchmark_directory signature status attempt agent provider model
    extra_config_json started_at ended_at duration_seconds command_json cwd stdout_path stderr_path result_json_path
    score unit higher_is_better metrics_json artifacts_json error high_score_label high_score_value delta_to_high_score
    benchmark_version benchmarks_commit eliza_commit eliza_version created_at comparison_id trajectory_summary_json
    token_metrics_json cache_metrics_json performance_metrics_json trajectory_count llm_call_count total_prompt_tokens
    total_completion_tokens total_cache_read_input_tokens total_cache_creation_input_tokens mean_latency_ms
    p95_latency_ms throughput_per_second
""")
GROUP_COLUMNS = words("""
    run_group_id created_at finished_at updated_at request_json benchmarks_json repo_meta_json created_by
    execution_namespace execution_contract_json checkpoint_relpath cohort_status pause_retry_at pause_reason
    pause_metadata_json storage_preflight_json
""")
TRAJECTORY_COLUMNS = words("""
    run_id trajectory_file turn_index prompt_tokens completion_tokens total_tokens cached_tokens cache_creation_tokens
    latency_ms prompt_chars
""")
FACTS: dict[str, Any] = {
    "directory": "word-game",
    "provider": "groq",
    "model": "qwen/qwen3-32b",
    "extra": {"sample": 10},
    "cwd": "/work",
    "stdout_path": "/logs/stdout.log",
    "stderr_path": "/logs/stderr.log",
    "result_path": "/logs/result.json",
    "artifacts": ["/logs/output"],
    "benchmarks_commit": "b0",
    "eliza_commit": "e0",
    "eliza_version": "1.2.3",
    "unit": "ratio",
    "high_score": {"label": "gpt-5", "value": 0.75, "source": "somewhere"},
    "comparison_id": "cmp_1",
}


def ask(store: Store, query: str, **given: Any) -> list[dict[str, Any]]:
    """Return the rows that a query gives."""
    with store.database.once() as connection:
        return [dict(row) for row in connection.execute(text(query), given).mappings()]


def finished(store: Store, samples: "Samples", score: float | None = 0.5, **given: Any) -> Run:
    """Add a run that has ended, with a score."""
    status = given.pop("status", RunStatus.FINISHED)
    higher = given.pop("higher_is_better", True)
    run = samples.run(**{"created_at": 1_790_000_000.25} | given)
    run.status, run.started_at, run.ended_at = status, 1_790_000_001.0, 1_790_000_011.5
    run.metrics = (
        MetricResult("accuracy", "mean", score, None, None, "", 10, 1, 1, higher_is_better=higher, primary=True),
    )
    return store.runs.add(run)


@pytest.mark.parametrize(
    ("view", "columns"),
    [
        ("benchmark_runs", RUN_COLUMNS),
        ("run_groups", GROUP_COLUMNS),
        ("benchmark_run_trajectories", TRAJECTORY_COLUMNS),
    ],
)
def test_the_views_have_the_columns_of_the_older_tables(store: Store, view: str, columns: list[str]) -> None:
    with store.database.once() as connection:
        assert list(connection.execute(text(f"SELECT * FROM {view}")).keys()) == columns


def test_a_run_shows_every_fact_that_is_known_of_it(store: Store, samples: "Samples") -> None:
    run = finished(store, samples, group_id="rg_1", provenance={"bench": FACTS, "command": ["mesocosm", "bench"]})
    counted = {"completed": 3, "failed": 1, "prompt_tokens": 30, "completion_tokens": 5, "cached_tokens": 2}
    store.database.write(lambda connection: connection.execute(update(runs).values(**counted, model_calls=4)))

    (row,) = ask(store, "SELECT * FROM benchmark_runs")

    documents = {name: json.loads(row.pop(name)) for name in list(row) if name.endswith("_json") and row[name]}
    assert row == {
        **dict.fromkeys(set(RUN_COLUMNS) - documents.keys()),
        "run_id": run.id,
        "run_group_id": "rg_1",
        "benchmark_id": "words",
        "benchmark_directory": "word-game",
        "signature": run.signature,
        "status": "succeeded",
        "attempt": 1,
        "agent": "loop",
        "provider": "groq",
        "model": "qwen/qwen3-32b",
        "started_at": "2026-09-21T14:13:21.000+00:00",
        "ended_at": "2026-09-21T14:13:31.500+00:00",
        "duration_seconds": 10.5,
        "cwd": "/work",
        "stdout_path": "/logs/stdout.log",
        "stderr_path": "/logs/stderr.log",
        "score": 0.5,
        "unit": "ratio",
        "higher_is_better": 1,
        "high_score_label": "gpt-5",
        "high_score_value": 0.75,
        "delta_to_high_score": -0.25,
        "benchmark_version": "1.0",
        "benchmarks_commit": "b0",
        "eliza_commit": "e0",
        "eliza_version": "1.2.3",
        "created_at": "2026-09-21T14:13:20.250+00:00",
        "comparison_id": "cmp_1",
        "trajectory_count": 4,
        "llm_call_count": 4,
        "total_prompt_tokens": 30,
        "total_completion_tokens": 5,
        "total_cache_read_input_tokens": 2,
        "throughput_per_second": pytest.approx(4 / 10.5),
        "result_json_path": "/logs/result.json",
    }
    assert documents["extra_config_json"] == {"sample": 10}
    assert documents["command_json"] == ["mesocosm", "bench"]
    assert documents["artifacts_json"] == ["/logs/output"]
    assert documents["metrics_json"]["accuracy"] == 0.5
    assert documents["metrics_json"]["episodes_completed"] == 3
    assert documents["token_metrics_json"]["total_tokens"] == 35
    assert documents["trajectory_summary_json"] == {"trajectories": 4, "failed": 1}


@pytest.mark.parametrize("word", ["parameters", "knobs"])
def test_a_run_of_another_kind_shows_what_its_spec_says(store: Store, samples: "Samples", word: str) -> None:
    model = ModelSettings("openai/org/model@http://127.0.0.1:8001/v1")
    spec = RunSpec(BenchmarkRef("benchmark", "words", {word: {"sample": 3}}), model)
    finished(store, samples, spec=spec, model=model.name, info={"card": {"unit": "points"}})

    (row,) = ask(store, "SELECT provider, model, extra_config_json, unit, benchmark_directory, cwd FROM benchmark_runs")

    assert json.loads(row.pop("extra_config_json")) == {"sample": 3}
    assert row == {
        "provider": "openai",
        "model": "org/model",
        "unit": "points",
        "benchmark_directory": "words",
        "cwd": "",
    }


@pytest.mark.parametrize(
    ("status", "error", "shown"),
    [
        (RunStatus.PENDING, "", "running"),
        (RunStatus.RUNNING, "", "running"),
        (RunStatus.FINISHED, "", "succeeded"),
        (RunStatus.FAILED, "no episode could be scored", "failed"),
        (RunStatus.STOPPED, "the budget is spent", "stopped"),
        (RunStatus.STOPPED, INTERRUPTED, "failed"),
    ],
)
def test_the_states_of_runs_have_their_older_words(
    store: Store, samples: "Samples", status: RunStatus, error: str, shown: str
) -> None:
    finished(store, samples, status=status, error=error)

    (row,) = ask(store, "SELECT status, error, metrics_json FROM benchmark_runs")

    assert (row["status"], row["error"] or "") == (shown, error)
    assert json.loads(row["metrics_json"]).get("reason") == (INTERRUPTED if error == INTERRUPTED else None)


def outcome(position: int, status: OutcomeStatus, **given: Any) -> Outcome:
    fields: dict[str, Any] = {"benchmark": "words", "directory": "words", "signature": "s", "at": 1_790_000_000.0}
    return Outcome("rg_1", position, status=status, **(fields | given))


def test_outcomes_without_a_run_of_their_own_are_rows(store: Store, samples: "Samples") -> None:
    store.groups.add(RunGroup("rg_1", 10.0))
    run = finished(store, samples, signature="s", group_id="rg_1")
    store.groups.save_outcome(outcome(0, OutcomeStatus.SUCCEEDED, run_id=run.id, comparison_id="cmp_2"))
    store.groups.save_outcome(outcome(1, OutcomeStatus.SKIPPED, run_id=run.id, reason="already_succeeded"))
    store.groups.save_outcome(outcome(2, OutcomeStatus.INCOMPATIBLE, reason="no docker", extra={"a": 1}))
    store.groups.save_outcome(outcome(3, OutcomeStatus.FAILED, reason="a key is missing"))
    store.groups.save_outcome(outcome(4, OutcomeStatus.RUNNING))

    rows = ask(store, "SELECT * FROM benchmark_runs ORDER BY run_id")

    assert [(row["run_id"], row["status"], row["attempt"], row["score"], row["error"]) for row in rows] == [
        (run.id, "succeeded", 1, 0.5, None),
        ("failed_rg_1_3", "failed", 0, None, "a key is missing"),
        ("incompat_rg_1_2", "incompatible", 0, None, "no docker"),
        ("running_rg_1_4", "running", 0, None, None),
        ("skip_rg_1_1", "skipped", 1, None, None),
    ]
    assert json.loads(rows[4]["metrics_json"]) == {
        "reason": "already_succeeded",
        "signature": "s",
        "existing_succeeded_run_id": run.id,
    }
    assert (rows[3]["ended_at"], rows[3]["duration_seconds"], rows[1]["duration_seconds"]) == (None, None, 0.0)
    assert (rows[0]["comparison_id"], rows[1]["comparison_id"]) == ("cmp_2", None)
    assert [json.loads(row["extra_config_json"]) for row in rows[1:3]] == [{}, {"a": 1}]


def test_a_skip_consumes_no_attempt(store: Store, samples: "Samples") -> None:
    store.groups.add(RunGroup("rg_1", 10.0))
    run = finished(store, samples, signature="s")
    store.groups.save_outcome(outcome(0, OutcomeStatus.SKIPPED, run_id=run.id))

    assert finished(store, samples, signature="s").attempt == 2
    newest = "SELECT max(attempt) AS newest FROM benchmark_runs WHERE signature = 's' AND status <> 'skipped'"
    assert ask(store, newest) == [{"newest": 2}]


def test_a_deleted_run_is_gone_and_does_not_return_as_an_outcome(store: Store, samples: "Samples") -> None:
    store.groups.add(RunGroup("rg_1", 10.0))
    run = finished(store, samples, group_id="rg_1")
    store.groups.save_outcome(outcome(0, OutcomeStatus.FAILED, run_id=run.id, reason="no episode could be scored"))

    store.runs.delete(run.id)

    assert ask(store, "SELECT run_id FROM benchmark_runs") == []


def test_groups_show_what_was_asked_and_how_it_went(store: Store) -> None:
    store.groups.add(RunGroup("rg_1", 1_790_000_000.0, None, "somebody", {"all": True}, ("words",), {"commit": "c"}))
    store.groups.save_outcome(outcome(0, OutcomeStatus.FAILED, at=1_790_000_005.0))

    (row,) = ask(store, "SELECT * FROM run_groups")
    store.groups.finish("rg_1", 1_790_000_009.0)
    (over,) = ask(store, "SELECT finished_at, updated_at, cohort_status FROM run_groups")

    assert json.loads(row["request_json"]) == {"all": True}
    assert json.loads(row["benchmarks_json"]) == ["words"]
    assert json.loads(row["repo_meta_json"]) == {"commit": "c"}
    assert (row["created_by"], row["finished_at"], row["cohort_status"]) == ("somebody", None, "running")
    assert row["updated_at"] == "2026-09-21T14:13:25.000+00:00"
    assert over == {
        **dict.fromkeys(("finished_at", "updated_at"), "2026-09-21T14:13:29.000+00:00"),
        "cohort_status": "failed",
    }


async def test_each_episode_is_a_trajectory_of_one_turn(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    await samples.write(store, run.id, [samples.entry(run.id, index) for index in range(2)])
    store.leases.release(run.id, store.leases.owner())

    sums = "sum(t.total_tokens) AS total, sum(t.cached_tokens) AS cached, count(*) AS turns, max(t.turn_index) AS last"
    joined = f"SELECT {sums} FROM benchmark_runs r JOIN benchmark_run_trajectories t ON t.run_id = r.run_id"

    assert [{name: int(value) for name, value in row.items()} for row in ask(store, joined)] == [
        {"total": 220, "cached": 8, "turns": 2, "last": 0}
    ]


def test_queries_of_the_older_database_answer(store: Store, samples: "Samples") -> None:
    store.groups.add(RunGroup("rg_1", 10.0, benchmarks=("words", "golf")))
    finished(store, samples, 0.25, group_id="rg_1", agent="a", signature="x")
    finished(store, samples, 0.75, group_id="rg_1", agent="b", signature="y")
    finished(store, samples, 3.0, benchmark="golf", higher_is_better=False, signature="z")
    finished(store, samples, 2.0, benchmark="golf", higher_is_better=False, signature="z")
    finished(store, samples, None, status=RunStatus.FAILED, signature="x")
    queries = {
        "joined": "SELECT g.run_group_id, count(*) AS n FROM run_groups g JOIN benchmark_runs r USING (run_group_id) "
        "GROUP BY g.run_group_id",
        "best": "SELECT benchmark_id, CASE WHEN min(higher_is_better) = 1 THEN max(score) ELSE min(score) END AS best "
        "FROM benchmark_runs WHERE status = 'succeeded' GROUP BY benchmark_id ORDER BY benchmark_id",
        "states": "SELECT status, count(*) AS n FROM benchmark_runs GROUP BY status ORDER BY status",
        "newest": "SELECT status, attempt FROM benchmark_runs WHERE signature = :signature "
        "ORDER BY attempt DESC LIMIT 1",
        "since": "SELECT count(*) AS n FROM benchmark_runs WHERE started_at >= '2026-09-21' AND ended_at < :now",
    }

    found = {
        name: ask(store, query, **{key: value for key, value in GIVEN.items() if f":{key}" in query})
        for name, query in queries.items()
    }

    assert found == {
        "joined": [{"run_group_id": "rg_1", "n": 2}],
        "best": [{"benchmark_id": "golf", "best": 2.0}, {"benchmark_id": "words", "best": 0.75}],
        "states": [{"status": "failed", "n": 1}, {"status": "succeeded", "n": 4}],
        "newest": [{"status": "failed", "attempt": 2}],
        "since": [{"n": 5}],
    }


GIVEN = {"signature": "x", "now": datetime(2100, 1, 1, tzinfo=UTC).isoformat()}


def test_times_can_be_read_and_sorted_as_text(store: Store, samples: "Samples") -> None:
    finished(store, samples)

    (row,) = ask(store, "SELECT started_at FROM benchmark_runs")

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", row["started_at"])
    assert datetime.fromisoformat(row["started_at"]).timestamp() == 1_790_000_001.0
