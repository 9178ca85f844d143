"""Comparisons over the API."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from mesocosm.core.ids import digest, new_id
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus
from mesocosm.core.score import Score
from mesocosm.server.schemas.comparison import ComparisonDocument
from mesocosm.stats import holm, mcnemar
from mesocosm.store import Store, open_store
from mesocosm.store.episodes import Episodes

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient, OpenClient, Records

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="session")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results without runs, to copy."""
    results = tmp_path_factory.mktemp("blank") / "results"
    open_store(results).close()
    return results


@pytest.fixture
def shelf(blank: Path, tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    opened = open_store(shutil.copytree(blank, tmp_path / "shelf"))
    yield opened
    opened.close()


@pytest.fixture
def api(shelf: Store, open_client: "OpenClient") -> "ApiClient":
    """A client of the API over the empty store."""
    return open_client(shelf)


class Play:
    """Stores runs with one score for each task and trial."""

    def __init__(self, store: Store, records: "Records") -> None:
        self._store = store
        self._records = records

    async def __call__(self, *tasks: Sequence[float | None], **given: Any) -> Run:
        """Store a run that gave these values (None: missing) in the trials of its tasks."""
        planned = sum(map(len, tasks))
        done = {"counts": Counts(planned=planned, completed=planned), "model": f"x/{new_id()}", "metrics": ()}
        run = self._records.run(**(done | given))
        places = [(n, trial, value) for n, trials in enumerate(tasks) for trial, value in enumerate(trials)]
        episodes = [
            self._records.episode(
                run,
                task_digest=digest({"seed": n}),
                task_id=f"seed {n}",
                trial=trial,
                index=index,
                scores=(Score("solved", value),),
            )
            for index, (n, trial, value) in enumerate(places)
        ]
        return await self._records.write(self._store, run, episodes)


@pytest.fixture
def play(shelf: Store, records: "Records") -> Play:
    """Return what stores runs."""
    return Play(shelf, records)


def compared(api: "ApiClient", *ids: str, **query: Any) -> dict[str, Any]:
    answer = api.get("/api/compare", params=[*(("run", run_id) for run_id in ids), *query.items()])
    assert answer.status_code == 200, answer.text
    return ComparisonDocument.model_validate_json(answer.content).model_dump()


def passes(first: int, count: int = 20) -> list[list[float]]:
    return [[float(n < first)] for n in range(count)]


async def test_two_runs_are_compared_task_by_task(api: "ApiClient", play: Play) -> None:
    a, b = await play(*passes(5)), await play(*passes(15))
    found = compared(api, a.id, b.id)
    assert [run["id"] for run in found["runs"]] == [a.id, b.id]
    group = found["benchmarks"][0]
    assert (group["benchmark"], group["metric"], group["metrics"], group["same_content"], group["note"]) == (
        "words",
        "solved",
        ["solved"],
        True,
        "",
    )
    pair = group["pairs"][0]
    assert (pair["a"], pair["b"], pair["paired"], pair["winner"]) == (a.id, b.id, True, "b")
    assert (pair["mean_a"], pair["mean_b"], pair["delta"]) == (0.25, 0.75, 0.5)
    assert 0 < pair["low"] < 0.5 < pair["high"]
    assert pair["p_value"] == pair["p_adjusted"] == mcnemar(10, 0, 20).p_value
    assert (pair["test"], pair["method"], pair["level"]) == ("mcnemar exact", "tango", 0.95)
    assert pair["counts"] == {"a_better": 0, "b_better": 10, "same": 10, "flipped": 10, "only_a": 0, "only_b": 0}
    assert {(cell["a"], cell["b"], cell["n"]) for cell in pair["density"]} == {(0, 0, 5), (0, 1, 10), (1, 1, 5)}


async def test_each_task_leads_to_an_episode_of_both_runs(api: "ApiClient", play: Play, shelf: Store) -> None:
    a, b = await play([1.0, 1.0], [0.0], [1.0]), await play([0.0, 0.0], [0.0])
    tasks = compared(api, a.id, b.id)["benchmarks"][0]["pairs"][0]["tasks"]
    assert [task["task_id"] for task in tasks] == ["seed 0", "seed 1", "seed 2"]
    first, _, alone = tasks
    assert first["flipped"]
    for run, episode_id in ((a, first["episode_a"]), (b, first["episode_b"])):
        episode = shelf.episodes.get(episode_id)
        assert (episode.run_id, episode.task_digest, episode.trial) == (run.id, first["task_digest"], 0)
    assert (alone["a"], alone["b"], alone["episode_b"]) == (1.0, None, None)
    assert shelf.episodes.get(alone["episode_a"]).index == 3


async def test_a_task_that_was_played_but_not_scored_still_leads_to_its_episode(api: "ApiClient", play: Play) -> None:
    a, b = await play([1.0], [1.0]), await play([1.0], [None])
    task = compared(api, a.id, b.id)["benchmarks"][0]["pairs"][0]["tasks"][1]
    assert (task["a"], task["b"]) == (1.0, None)
    assert task["episode_b"]


async def test_a_difference_without_bounds_is_told_by_nulls(api: "ApiClient", play: Play) -> None:
    a, b = await play([0.5]), await play([1.5])
    pair = compared(api, a.id, b.id)["benchmarks"][0]["pairs"][0]
    assert (pair["delta"], pair["low"], pair["high"], pair["smallest_difference"]) == (1.0, None, None, None)
    assert pair["winner"] == "tie"


async def test_three_runs_make_two_pairs_with_the_first(api: "ApiClient", play: Play) -> None:
    runs = [await play(*passes(first)) for first in (5, 11, 15)]
    pairs = compared(api, *(run.id for run in runs))["benchmarks"][0]["pairs"]
    assert [(pair["a"], pair["b"]) for pair in pairs] == [(runs[0].id, runs[1].id), (runs[0].id, runs[2].id)]
    assert [pair["p_adjusted"] for pair in pairs] == holm([mcnemar(6, 0, 20).p_value, mcnemar(10, 0, 20).p_value])


async def test_differences_of_configuration_are_listed(api: "ApiClient", play: Play) -> None:
    model = {"model": "x/m"}
    a = await play([1.0], **model)
    settings = ModelSettings("builtin/random", temperature=0.5, extra={"url": "http://me:secret@host/"})
    b = await play([1.0], **model, spec=RunSpec(BenchmarkRef("environment", "/elsewhere.json"), settings))
    assert compared(api, a.id, b.id)["differences"] == [
        {"field": "model.temperature", "values": [0.0, 0.5]},
        {"field": "model.extra.url", "values": [None, "http://me:[redacted]@host/"]},
    ]


async def test_ids_may_be_given_by_their_beginning(api: "ApiClient", play: Play) -> None:
    a, b = await play([1.0], id="a" * 32), await play([1.0], id="b" * 32)
    assert compared(api, "aaaa", "bbbb")["benchmarks"][0]["runs"] == [a.id, b.id]


async def test_hostile_names_travel_as_text(api: "ApiClient", play: Play) -> None:
    a, b = [await play([1.0], benchmark=SCRIPT, benchmark_title=SCRIPT, model=SCRIPT, name=SCRIPT) for _ in range(2)]
    answer = api.get("/api/compare", params=[("run", a.id), ("run", b.id)])
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["benchmarks"][0]["benchmark"] == SCRIPT


@pytest.mark.parametrize(
    ("query", "status", "told"),
    [
        (["A"], 422, "run"),
        (["A"] * 21, 422, "run"),
        (["A", "A"], 400, "given twice"),
        (["A", "none"], 404, "there is no run"),
        (["A", "B", "metric=speed"], 404, "they have: solved"),
    ],
)
async def test_what_cannot_be_compared_is_told(
    api: "ApiClient", play: Play, query: list[str], status: int, told: str
) -> None:
    ids = {"A": (await play([1.0])).id, "B": (await play([1.0])).id}
    params = [("run", ids.get(word, word)) for word in query if "=" not in word]
    params += [("metric", word.partition("=")[2]) for word in query if "=" in word]
    answer = api.get("/api/compare", params=params)
    assert answer.status_code == status, answer.text
    assert told in answer.json()["detail"]


async def test_scores_of_one_name_are_those_among_all(play: Play, shelf: Store, records: "Records") -> None:
    name = "solved"
    run = await play([1.0, None], [0.0])
    other = records.episode(run, index=9, scores=(Score("length", 3.0), Score(name, 1.0), Score("worst", worst=True)))
    await records.write(shelf, run, [other])
    every = list(shelf.episodes.score_rows(run.id))
    assert list(shelf.episodes.score_rows(run.id, name)) == [row for row in every if row.name == name]
    assert {row.name for row in every} == {"length", name, "worst"}


async def test_a_comparison_of_finished_runs_is_computed_once(api: "ApiClient", play: Play) -> None:
    a, b = await play(*passes(5)), await play(*passes(15))
    first = compared(api, a.id, b.id)
    with patch.object(Episodes, "score_rows", side_effect=AssertionError("read again")):
        assert compared(api, a.id, b.id) == first
        assert compared(api, a.id, b.id, metric="") == first


async def test_a_run_that_is_scored_anew_is_compared_anew(api: "ApiClient", play: Play, shelf: Store) -> None:
    a, b = await play([1.0], [0.0]), await play([1.0], [1.0])
    assert compared(api, a.id, b.id)["benchmarks"][0]["pairs"][0]["delta"] == 0.5
    episodes = shelf.episodes.list(b.id).items
    shelf.episodes.save_scores(b.id, [(episode.id, (Score("solved", 0.0),)) for episode in episodes])
    run = shelf.runs.get(b.id)
    run.provenance = {"rescored_at": 5.0}
    shelf.runs.save(run)
    assert compared(api, a.id, b.id)["benchmarks"][0]["pairs"][0]["delta"] == -0.5


async def test_new_tags_show_at_once(api: "ApiClient", play: Play, shelf: Store) -> None:
    a, b = await play([1.0]), await play([1.0])
    compared(api, a.id, b.id)
    shelf.runs.set_tags(a.id, ["baseline"])
    assert compared(api, a.id, b.id)["runs"][0]["tags"] == ["baseline"]


async def test_a_run_that_goes_on_is_compared_anew_each_time(
    api: "ApiClient", play: Play, shelf: Store, records: "Records"
) -> None:
    a = await play([1.0], [1.0])
    b = await play([0.0], status=RunStatus.RUNNING, counts=Counts(planned=2), ended_at=None)
    group = compared(api, a.id, b.id)["benchmarks"][0]
    assert group["pairs"][0]["counts"]["only_a"] == 1
    assert "still going on" in group["note"]
    assert (group["scores"][1]["n_scored"], group["scores"][1]["missing"]) == (1, {"not_run": 1})
    second = records.episode(b, task_digest=digest({"seed": 1}), index=1, scores=(Score("solved", 1.0),))
    await records.write(shelf, b, [second])
    assert compared(api, a.id, b.id)["benchmarks"][0]["pairs"][0]["counts"]["only_a"] == 0
