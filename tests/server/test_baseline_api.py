"""Runs of a list against the baseline of their benchmark, names of runs, saved views."""

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.ids import digest
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus
from mesocosm.core.score import MetricResult, Score
from mesocosm.server.schemas.baseline import RunStandings, StandingDocument
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient, Records


class Runs:
    """Stores runs of one benchmark with given scores, a value for each task."""

    def __init__(self, store: Store, records: "Records") -> None:
        self._store, self._records = store, records

    def add(
        self, scores: list[float], *, model: str = "openai/a", trials: int = 1, first: int = 0, **given: Any
    ) -> Run:
        mean = sum(scores) / len(scores)
        metric = MetricResult(
            "solved", "mean", mean, mean, mean, "wilson", len(scores), len(scores), len(scores) // trials, primary=True
        )
        run = self._records.run(
            model=model,
            spec=RunSpec(BenchmarkRef("environment", "/words.json"), ModelSettings(model)),
            counts=Counts(planned=len(scores)),
            metrics=(metric,),
            **given,
        )
        episodes = [
            self._records.episode(
                run,
                index=n,
                trial=n % trials,
                task_digest=digest(first + n // trials),
                task_id=f"seed {first + n // trials}",
                scores=(Score("solved", score),),
            )
            for n, score in enumerate(scores)
        ]
        return asyncio.run(self._records.write(self._store, run, episodes))


@pytest.fixture
def made(changing: Store, records: "Records") -> Runs:
    return Runs(changing, records)


def standings(client: "ApiClient", *runs: Run, baseline: list[str] | None = None) -> dict[str, StandingDocument]:
    answer = client.get("/api/runs/baseline", params={"run": [run.id for run in runs], "baseline": baseline or []})
    assert answer.status_code == 200, answer.text
    return {item.run_id: item for item in RunStandings.model_validate_json(answer.content).items}


def test_the_best_run_is_the_baseline_and_others_differ_by_their_tasks(writer: "ApiClient", made: Runs) -> None:
    best, worse = made.add([1.0] * 38 + [0.0] * 2), made.add([1.0] * 18 + [0.0] * 22)

    found = standings(writer, worse, best)

    assert found[best.id].state == "baseline"
    against = found[worse.id]
    assert (against.state, against.delta, against.n, against.better) == ("difference", -0.5, 40, False)
    assert against.high is not None
    assert against.high < 0


def test_a_difference_inside_its_interval_is_neither_better_nor_worse(writer: "ApiClient", made: Runs) -> None:
    best, other = made.add([1.0] * 20 + [0.0] * 20), made.add([1.0] * 19 + [0.0] * 21)

    found = standings(writer, best, other)[other.id]

    assert (found.state, found.better) == ("difference", None)
    assert "includes 0" in found.why


def test_trials_of_a_task_are_averaged_before_they_are_paired(writer: "ApiClient", made: Runs) -> None:
    best, other = made.add([1.0] * 90, trials=3), made.add([1.0, 1.0, 0.0] * 30, trials=3)

    found = standings(writer, best, other)[other.id]

    assert found.n == 30
    assert found.delta == pytest.approx(-1 / 3)


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ({"scores": [1.0] * 5}, "few_tasks"),
        ({"scores": [1.0] * 40, "first": 7}, "other_tasks"),
        ({"scores": [0.5] * 40, "benchmark_digest": digest("other content")}, "other_tasks"),
        ({"scores": [0.5] * 40, "model": "builtin/random"}, "builtin"),
        ({"scores": [0.5] * 40, "status": RunStatus.RUNNING, "ended_at": None}, "going_on"),
        ({"scores": [0.5] * 40, "provenance": {"unverified": True}}, "no_score"),
    ],
)
def test_no_difference_is_shown_where_it_means_nothing(
    writer: "ApiClient", made: Runs, given: dict[str, Any], state: str
) -> None:
    best, other = made.add([1.0] * 40), made.add(**given)

    found = standings(writer, other, best, baseline=[best.id])[other.id]

    assert (found.state, found.delta, found.better) == (state, None, None)
    assert found.why


def test_built_in_agents_are_floor_and_ceiling_and_never_the_baseline(writer: "ApiClient", made: Runs) -> None:
    made.add([0.1] * 40, model="builtin/random")
    oracle = made.add([1.0] * 40, model="builtin/oracle")
    run = made.add([0.5] * 40)

    found = standings(writer, oracle, run)

    assert found[run.id].state == "baseline"
    floor, ceiling = found[run.id].floor, found[run.id].ceiling
    assert floor is not None
    assert ceiling is not None
    assert floor.value == pytest.approx(0.1)
    assert (floor.n, floor.same_tasks) == (40, True)
    assert (ceiling.run_id, ceiling.value) == (oracle.id, 1.0)


def test_a_chosen_baseline_holds_for_its_benchmark(writer: "ApiClient", made: Runs) -> None:
    best, other = made.add([1.0] * 40), made.add([0.5] * 40)

    found = standings(writer, best, baseline=[other.id])

    assert (found[best.id].baseline_id, found[best.id].delta, found[best.id].better) == (other.id, 0.5, True)


def test_built_in_agents_can_be_left_out_of_the_list(writer: "ApiClient", made: Runs) -> None:
    run = made.add([1.0] * 3)

    items = writer.get("/api/runs", params={"builtin": False}).json()["items"]

    assert [item["id"] for item in items] == [run.id]


def test_a_run_without_a_name_is_called_by_what_it_is(writer: "ApiClient", made: Runs) -> None:
    run = made.add([1.0] * 3, model="openai/small@http://127.0.0.1:8000/v1", attempt=1)

    title = writer.get(f"/api/runs/{run.id}").json()["title"]

    assert title == {"given": "", "benchmark": "Word game", "model": "small", "differs": ""}


def test_a_run_is_renamed_and_found_by_its_name(writer: "ApiClient", made: Runs) -> None:
    run = made.add([1.0] * 3)

    renamed = writer.request("PATCH", f"/api/runs/{run.id}", json={"name": " Nightly <b> "})

    assert renamed.json()["name"] == "Nightly <b>"
    assert [item["id"] for item in writer.get("/api/runs", params={"q": "nightly"}).json()["items"]] == [run.id]


def test_a_name_of_another_run_or_with_control_characters_is_refused(writer: "ApiClient", made: Runs) -> None:
    one, other = made.add([1.0]), made.add([1.0])
    writer.request("PATCH", f"/api/runs/{one.id}", json={"name": "nightly"})

    assert writer.request("PATCH", f"/api/runs/{other.id}", json={"name": "nightly"}).status_code == 409
    assert writer.request("PATCH", f"/api/runs/{other.id}", json={"name": "a\nb"}).status_code == 422


def test_counts_by_outcome_and_the_spread_of_scores_are_listed(writer: "ApiClient", made: Runs) -> None:
    run = made.add([0.1, 0.5, 1.0])

    item = writer.get(f"/api/runs/{run.id}").json()

    assert {name: item["counts"][name] for name in ("passed", "not_passed", "errors", "missing")} == {
        "passed": 3,
        "not_passed": 0,
        "errors": 0,
        "missing": 0,
    }
    assert item["bins"]["counts"] == [0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1]


def test_views_are_saved_replaced_and_deleted(writer: "ApiClient") -> None:
    for search in ("?model=a", "model=b"):
        saved = writer.request("PUT", "/api/views/Needs a look", json={"search": search})
        assert saved.status_code == 200, saved.text

    assert writer.get("/api/views").json() == [{"name": "Needs a look", "search": "model=b"}]
    typed = {"Content-Type": "application/json"}
    assert writer.request("DELETE", "/api/views/Needs a look", headers=typed).status_code == 204
    assert writer.get("/api/views").json() == []
    assert writer.request("DELETE", "/api/views/Needs a look", headers=typed).status_code == 404
