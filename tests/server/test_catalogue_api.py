"""Benchmarks of the catalogue over the API: what was never run, what is missing here, how much was run."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Counts, RunSpec, Selection
from mesocosm.core.score import MetricResult
from mesocosm.server.runs import benchmark_index as shelves
from mesocosm.server.runs.benchmark_index import BenchmarkIndex
from mesocosm.server.schemas.benchmark import BenchmarkDetail, BenchmarkPage, BenchmarkSummary
from mesocosm.store import Store, open_store

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient, OpenClient, Records

TOML = """
id = "toy-sums"
aliases = ["sums"]
title = "Adding numbers"
description = "Small sums."
source = "the tests"
licence = "CC0"
version = "3"
split = "all"
sampling = "limit"

[[requirement]]
kind = "variable"
name = "TOY_KEY"
why = "it opens the data"

[[requirement]]
kind = "variable"
name = "TOY_OTHER"

[parameters.limit]
type = "integer"
help = "how many"
minimum = 1

[[reference]]
label = "somebody"
value = 0.5
split = "all"
source = "https://example.org"
published = 2025-01-02

[[reference]]
label = "another split"
value = 0.9
split = "hard"
source = "https://example.org"
"""
CARD = {"source": "the tests", "licence": "CC0", "split": "all", "unit": "ratio", "reference": []}
METRICS = [{"name": "score", "score": "score", "aggregation": "mean", "primary": True}]

AddRun = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one benchmark."""
    place = tmp_path / "benchmarks" / "toy_sums"
    place.mkdir(parents=True)
    (place / "benchmark.toml").write_text(TOML)
    return place.parent


@pytest.fixture
def results(tmp_path: Path) -> Store:
    """An empty store."""
    return open_store(tmp_path / "results")


@pytest.fixture
def api(results: Store, folder: Path, open_client: "OpenClient") -> "ApiClient":
    """A client of an installation in which one of two variables is set."""
    return open_client(results, benchmark_index=BenchmarkIndex([folder], {"TOY_OTHER": "1"}))


@pytest.fixture
def add(results: Store, records: "Records") -> AddRun:
    """Return what stores finished runs of the benchmark, each a minute younger than the one before."""
    age = iter(range(1_700_000_000, 1_800_000_000, 60))

    def stored(model: str, tasks: int, *, count: int | None = None, value: float = 0.5, **given: Any) -> str:
        metric = MetricResult("score", "mean", value, 0.1, 0.9, "wilson", tasks, tasks, tasks, primary=True)
        selection = Selection(count=count)
        spec = RunSpec(BenchmarkRef("benchmark", "toy-sums"), ModelSettings(model), selection=selection)
        facts = {"model": model, "spec": spec, "metrics": (metric,), "counts": Counts(planned=tasks, completed=tasks)}
        names = {"benchmark": "toy-sums", "benchmark_title": "Adding numbers", "created_at": float(next(age))}
        run = records.run(**names, **facts, info={"card": CARD, "metrics": METRICS}, **given)
        return results.runs.add(run).id

    return stored


def listed(api: "ApiClient", q: str = "toy-sums") -> list[BenchmarkSummary]:
    answer = api.get("/api/benchmarks", params={"q": q})
    assert answer.status_code == 200, answer.text
    return BenchmarkPage.model_validate_json(answer.content).items


def detail(api: "ApiClient", name: str = "toy-sums") -> BenchmarkDetail:
    answer = api.get(f"/api/benchmarks/{name}")
    assert answer.status_code == 200, answer.text
    return BenchmarkDetail.model_validate_json(answer.content)


def test_a_benchmark_that_was_never_run_is_listed_with_what_runs_it(api: "ApiClient", folder: Path) -> None:
    (found,) = listed(api)
    assert (found.title, found.source, found.licence, found.split) == ("Adding numbers", "the tests", "CC0", "all")
    assert (found.runs, found.coverage.state, found.last_run_at) == (0, "never", None)
    assert found.command == (
        f"mesocosm bench run --benchmarks toy-sums --benchmarks-dir {folder} --model builtin/random"
    )


def test_built_in_benchmarks_are_listed_too(api: "ApiClient") -> None:
    assert {"gsm8k", "context-bench", "osworld"} <= {found.id for found in listed(api, "")}


def test_what_this_machine_lacks_is_told_for_each_requirement(api: "ApiClient") -> None:
    found = detail(api)
    assert found.lacking == ["the variable TOY_KEY is not set; export it (it opens the data)"]
    assert [requirement.lacking for requirement in found.requirements] == [*found.lacking, ""]


def test_an_answer_does_not_wait_long_for_what_a_benchmark_lacks(
    results: Store, folder: Path, open_client: "OpenClient"
) -> None:
    go_on = threading.Event()

    def slow(*_: Any) -> list[str]:
        assert go_on.wait(60)
        return ["nothing answers"]

    with patch.object(shelves, "missing", slow):
        api = open_client(results, benchmark_index=BenchmarkIndex([folder], {}))
        assert listed(api)[0].lacking is None
        assert detail(api).requirements[0].lacking is None
        go_on.set()
        lacking = None
        while lacking is None:
            lacking = listed(api)[0].lacking
        assert lacking == ["nothing answers"]


def test_a_benchmark_is_found_by_an_alias(api: "ApiClient") -> None:
    assert detail(api, "SUMS").id == "toy-sums"
    assert [found.id for found in listed(api, "sums")] == ["toy-sums"]


def test_parameters_are_told_with_the_one_that_bounds_the_tasks(api: "ApiClient") -> None:
    (parameter,) = detail(api).parameters
    assert (parameter.name, parameter.type, parameter.minimum, parameter.sampling) == ("limit", "integer", 1, True)


def test_published_scores_compare_where_unit_and_split_agree(api: "ApiClient") -> None:
    found = {reference.label: reference for reference in detail(api).references}
    assert found["somebody"].comparable
    assert not found["another split"].comparable
    assert str(found["somebody"].published) == "2025-01-02"


def test_a_sample_covers_a_part(api: "ApiClient", add: AddRun) -> None:
    add("x/a", 5, count=5)
    (found,) = listed(api)
    assert (found.coverage.state, found.coverage.tasks, found.coverage.total) == ("partly", 5, None)
    assert detail(api).leaderboard[0].sample
    assert detail(api).history[0].sample


def test_a_run_without_a_limit_covers_all(api: "ApiClient", add: AddRun) -> None:
    add("x/a", 5, count=5)
    add("x/b", 40)
    (found,) = listed(api)
    assert (found.coverage.state, found.coverage.tasks, found.coverage.total) == ("whole", 40, 40)
    assert {entry.model: entry.sample for entry in detail(api).leaderboard} == {"x/a": True, "x/b": False}


def test_a_limit_above_all_tasks_limits_nothing(api: "ApiClient", add: AddRun) -> None:
    add("x/a", 40, count=100)
    add("x/b", 40)
    assert [entry.sample for entry in detail(api).leaderboard] == [False, False]


def test_a_later_sample_does_not_take_the_place_of_a_whole_run(api: "ApiClient", add: AddRun) -> None:
    whole = add("x/a", 40, value=0.5)
    add("x/a", 5, count=5, value=0.8)
    (entry,) = detail(api).leaderboard
    assert (entry.run_id, entry.metric.value, entry.runs) == (whole, 0.5, 2)


def test_of_runs_of_equal_size_the_latest_counts(api: "ApiClient", add: AddRun) -> None:
    add("x/a", 40, value=0.5)
    latest = add("x/a", 40, value=0.4)
    assert detail(api).leaderboard[0].run_id == latest


def test_tasks_made_of_seeds_have_no_whole(api: "ApiClient", results: Store, records: "Records") -> None:
    results.runs.add(records.run())
    (found,) = listed(api, "words")
    assert (found.coverage.state, found.coverage.tasks, found.command, found.origin) == ("endless", 1, None, "")


HIGH = {"label": "somebody", "value": 0.4, "source": "https://example.org"}


@pytest.mark.parametrize("path", ["/api/runs", "/api/runs/{run}"])
def test_a_published_score_stands_beside_the_own_one(api: "ApiClient", add: AddRun, path: str) -> None:
    run_id = add("x/a", 40, value=0.5, provenance={"bench": {"high_score": HIGH}})
    answer = api.get(path.format(run=run_id)).json()
    run = answer["items"][0] if "items" in answer else answer
    assert run["published"] == {**HIGH, "delta": pytest.approx(0.1)}


@pytest.mark.parametrize("facts", [None, {}, {"high_score": None}, {"high_score": {"value": "0.4"}}, [1]])
def test_a_run_without_a_published_score_says_so(api: "ApiClient", add: AddRun, facts: Any) -> None:
    run_id = add("x/a", 40, provenance={"bench": facts})
    assert api.get(f"/api/runs/{run_id}").json()["published"] is None


def test_runs_are_sorted_by_id(api: "ApiClient", add: AddRun) -> None:
    ids = [add("x/a", 5) for _ in range(5)]
    seen: list[str] = []
    cursor = None
    while not seen or cursor is not None:
        page = api.get("/api/runs", params={"sort": "-id", "limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        seen += [run["id"] for run in page["items"]]
        cursor = page["cursor"]
    assert seen == sorted(ids, reverse=True)
