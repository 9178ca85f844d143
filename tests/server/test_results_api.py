"""`/api/runs/{id}/results` and `/slices`."""

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.run import Counts, Run, RunStatus
from mesocosm.core.score import Metric, Score
from mesocosm.engine.metrics import so_far
from mesocosm.engine.rescoring import remeasure
from mesocosm.server.auth.principal import SERVER
from mesocosm.server.permissions.grant import grant
from mesocosm.server.service import local_service
from mesocosm.server.site.data import write_data
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient, Records

METRICS = (
    Metric("reward", "reward", low=0.0, primary=True),
    Metric("pass_rate", "reward", "pass_rate", threshold=0.5, inclusive=True),
)


def sample(records: "Records", run: Run, index: int, reward: float | Cause, **labels: str) -> Episode:
    """Return a sample with a reward, one whose workflow failed, or one whose reward is missing."""
    fields: dict[str, Any] = {"index": index, "labels": labels, "started_at": 100.0, "ended_at": 101.0 + index}
    if isinstance(reward, float):
        return records.episode(run, **fields, scores=(Score("reward", reward), Score("turns", 2.0)))
    error = EpisodeError(reward, "it went wrong")
    if error.rule.valid:
        failed = {"status": EpisodeStatus.FAILED, "failure": error.failure()}
        return records.episode(run, **fields, **failed, scores=(Score("reward", worst=True),))
    said = Score("reward", missing=reward, explanation=f"row {index}: no answer")
    return records.episode(run, **fields, scores=(said,))


@pytest.fixture
async def run(changing: Store, records: "Records") -> Run:
    """Return a finished run of six samples, one of which is owed."""
    info = {"metrics": msgspec.to_builtins(METRICS), "discovers": True}
    run = records.run(kind="rollout", counts=Counts(planned=7, completed=5, failed=1), info=info, metrics=())
    rewards: list[float | Cause] = [1.0, 0.5, 0.25, Cause.WORKFLOW_FAILED, Cause.GRADER_ERROR, Cause.SKIPPED]
    levels = ["5", "5", "1", "1", "1", "5"]
    samples = [
        sample(records, run, n, reward, level=level)
        for n, (reward, level) in enumerate(zip(rewards, levels, strict=True))
    ]
    run = await records.write(changing, run, samples)
    run.metrics = so_far(run, changing)
    changing.runs.save(run)
    return changing.runs.get(run.id)


def test_results_say_what_became_of_every_sample(writer: "ApiClient", run: Run) -> None:
    found = writer.get(f"/api/runs/{run.id}/results").json()

    assert found["counts"] == {
        "planned": 7,
        "done": 6,
        "graded": 3,
        "passed": 2,
        "failed": 2,
        "skipped": 1,
        "owed": 1,
    }
    assert (found["pass_threshold"], found["pass_inclusive"], found["seed_pass_rate"]) == (0.5, True, 0.4)
    assert found["reward"]["n"] == 3
    assert (found["score"]["n_scored"], found["score"]["value"]) == (4, 1.75 / 4)
    assert (found["pass_rate"]["n_scored"], found["pass_rate"]["value"]) == (4, 0.5)
    assert [metric["name"] for metric in found["metrics"]] == ["turns"]
    assert found["failures"] == [
        {"stage": "grader", "cause": "grader_error", "count": 1, "valid": False},
        {"stage": "workflow", "cause": "workflow_failed", "count": 1, "valid": True},
    ]
    assert found["labels"] == [{"name": "level", "values": 2, "exact": True}]
    assert found["latency"]["p50"] == 3.0
    assert (found["tokens"]["total"], found["tokens"]["per_sample"], found["cost_usd"]) == (660, 110, 1.5)


def test_a_run_tells_what_the_grader_said_of_the_first_sample_without_a_score(writer: "ApiClient", run: Run) -> None:
    found = writer.get(f"/api/runs/{run.id}").json()

    told = {one["cause"]: (one["task_id"], one["message"]) for one in found["ungraded"]}
    (first,) = [item for item in writer.get(f"/api/runs/{run.id}/episodes").json()["items"] if item["index"] == 4]
    assert told["grader_error"] == (first["task_id"], "row 4: no answer")
    assert "workflow_failed" not in told


async def test_a_run_tells_why_only_its_second_metric_has_no_value(
    writer: "ApiClient", changing: Store, records: "Records"
) -> None:
    info = {"metrics": msgspec.to_builtins((*METRICS, Metric("second", "digits")))}
    run = records.run(counts=Counts(planned=1, completed=1), info=info, metrics=())
    said = Score("digits", missing=Cause.GRADER_ERROR, explanation="no digits")
    run = await records.write(changing, run, [records.episode(run, index=0, scores=(Score("reward", 1.0), said))])
    run.metrics = so_far(run, changing)
    changing.runs.save(run)

    (why,) = writer.get(f"/api/runs/{run.id}").json()["ungraded"]
    assert (why["metric"], why["cause"], why["message"]) == ("second", "grader_error", "no digits")


def test_slices_are_by_the_values_of_a_label(writer: "ApiClient", run: Run) -> None:
    found = writer.get(f"/api/runs/{run.id}/slices", params={"by": "level"}).json()

    assert (found["by"], found["more"]) == ("level", 0)
    one, five = found["slices"]
    assert (one["value"], one["episodes"], one["failed"], one["missing"], one["skipped"]) == ("1", 3, 2, 1, 0)
    assert (one["reward"]["value"], one["reward"]["n"], one["pass_rate"]["value"]) == (0.125, 2, 0.0)
    assert (five["value"], five["reward"]["value"], five["skipped"]) == ("5", 0.75, 1)


def test_a_label_that_no_sample_has_is_not_found_and_the_answer_names_those_there_are(
    writer: "ApiClient", run: Run
) -> None:
    answer = writer.get(f"/api/runs/{run.id}/slices", params={"by": "colour"})

    assert answer.status_code == 404
    assert "level" in answer.json()["detail"]


def test_results_of_a_finished_run_need_not_be_sent_twice(writer: "ApiClient", run: Run) -> None:
    first = writer.get(f"/api/runs/{run.id}/results")

    again = writer.get(f"/api/runs/{run.id}/results", headers={"If-None-Match": first.headers["etag"]})

    assert again.status_code == 304


def test_another_threshold_shows_at_once(writer: "ApiClient", changing: Store, run: Run) -> None:
    assert writer.get(f"/api/runs/{run.id}/results").json()["counts"]["passed"] == 2

    remeasure(run, (METRICS[0], msgspec.structs.replace(METRICS[1], threshold=0.75)), changing)

    found = writer.get(f"/api/runs/{run.id}/results").json()
    assert (found["counts"]["passed"], found["pass_threshold"], found["pass_rate"]["value"]) == (1, 0.75, 0.25)


def test_a_run_that_goes_on_has_results_so_far(writer: "ApiClient", changing: Store, run: Run) -> None:
    run.status, run.metrics = RunStatus.RUNNING, ()
    changing.runs.save(run)

    answer = writer.get(f"/api/runs/{run.id}/results")

    assert answer.headers["cache-control"] == "no-store"
    assert (answer.json()["counts"]["owed"], answer.json()["score"]["value"]) == (1, 1.75 / 4)


def test_a_run_of_any_kind_has_results(client: "ApiClient", store: Store) -> None:
    for recorded in store.runs.list().items:
        found = client.get(f"/api/runs/{recorded.id}/results").json()
        counts = found["counts"]
        assert counts["done"] == counts["graded"] + counts["failed"] + counts["skipped"] > 0
        assert found["score"]["value"] is not None


def test_the_episode_document_shows_labels(writer: "ApiClient", run: Run) -> None:
    (first, *_) = writer.get(f"/api/runs/{run.id}/episodes").json()["items"]

    assert first["labels"] == {"level": "5"}


def test_a_site_has_the_results_of_its_runs_and_a_file_for_each_label(changing: Store, run: Run) -> None:
    files: dict[str, bytes] = {}

    def put(name: str, data: bytes, *, text: bool = True) -> None:
        files[name] = data
        assert text

    write_data(grant(local_service(changing), SERVER), [run.id], put, lambda _: None)

    assert json.loads(files[f"data/runs/{run.id}/results.json"])["counts"]["graded"] == 3
    assert json.loads(files[f"data/runs/{run.id}/slices-0.json"])["by"] == "level"
