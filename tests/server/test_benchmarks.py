"""Benchmarks over the API: lists, leaderboards, histories."""

import gc
import shutil
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch
from urllib.parse import quote

import pytest

from mesocosm.core.ids import digest, new_id
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import MetricResult, Score
from mesocosm.core.usage import Usage
from mesocosm.server import serving
from mesocosm.server.permissions.benchmark_records import local_records
from mesocosm.server.runs.benchmark_index import EmptyBenchmarkIndex
from mesocosm.server.runs.benchmark_list import read_ahead
from mesocosm.server.runs.benchmark_overview import READINGS, overview_of
from mesocosm.server.schemas.benchmark import BenchmarkDetail, BenchmarkPage
from mesocosm.stats import wilson
from mesocosm.store import Store, open_store
from mesocosm.store.benchmarks import LATEST, BenchmarkCounts, Benchmarks, ChangedRun

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient, OpenClient, Records, Serve

INFO: dict[str, Any] = {
    "description": "Guess the word.",
    "vow": {"reward": "one for each letter"},
    "metrics": [{"name": "solved", "score": "solved", "aggregation": "mean", "primary": True}],
}


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
    """A client of the API over the empty store, which knows no benchmarks but those of runs."""
    return open_client(shelf, benchmark_index=EmptyBenchmarkIndex())


def measured(passed: int | None, *, higher_is_better: bool = True) -> MetricResult:
    """Return the pass rate of 100 episodes, or the metric of as many without a score."""
    scored = 0 if passed is None else 100
    found = wilson(passed or 0, 100)
    value, low, high = (None, None, None) if passed is None else (found.value, found.low, found.high)
    return MetricResult(
        "solved",
        "mean",
        value,
        low,
        high,
        "wilson",
        n_planned=100,
        n_scored=scored,
        n_tasks=scored,
        higher_is_better=higher_is_better,
        primary=True,
    )


class Add:
    """Stores finished runs of 100 episodes, each a minute younger than the one before."""

    def __init__(self, store: Store, records: "Records") -> None:
        self._store = store
        self._records = records
        self._now = 1_700_000_000.0

    def __call__(self, model: str, passed: int | None, **given: Any) -> Run:
        """Store a run that passed so many tasks (None: scored none)."""
        self._now += 60
        better = given.pop("higher_is_better", True)
        metric = measured(passed, higher_is_better=better)
        fields = {"model": model, "created_at": self._now, "metrics": (metric,), "info": INFO}
        return self._store.runs.add(self._records.run(**(fields | given)))

    async def played(self, model: str, passed: int, **given: Any) -> Run:
        """Store a run with its 100 episodes, the first of which passed."""
        run = self(model, passed, id=new_id(), **given)
        self._store.runs.delete(run.id)
        episodes = [
            self._records.episode(
                run,
                task_digest=digest({"seed": n}),
                task_id=f"seed {n}",
                index=n,
                scores=(Score("solved", float(n < passed)),),
            )
            for n in range(100)
        ]
        return await self._records.write(self._store, run, episodes)


@pytest.fixture
def add(shelf: Store, records: "Records") -> Add:
    """Return what stores runs."""
    return Add(shelf, records)


def page(api: "ApiClient", **query: Any) -> BenchmarkPage:
    answer = api.get("/api/benchmarks", params=query)
    assert answer.status_code == 200, answer.text
    return BenchmarkPage.model_validate_json(answer.content)


def detail(api: "ApiClient", name: str = "words") -> BenchmarkDetail:
    answer = api.get(f"/api/benchmarks/{quote(name, safe='/')}")
    assert answer.status_code == 200, answer.text
    return BenchmarkDetail.model_validate_json(answer.content)


def places(found: BenchmarkDetail) -> list[tuple[str, int | None, int | None]]:
    return [(entry.model, entry.rank, entry.rank_last) for entry in found.leaderboard]


CATALOGUED = {**INFO, "card": {"unit": "ratio"}}


def test_one_trial_with_other_data_takes_nobody_from_the_leaderboard(api: "ApiClient", add: Add) -> None:
    add("x/good", 80, benchmark_digest="everybody", info=CATALOGUED)
    add("x/weak", 40, benchmark_digest="everybody", info=CATALOGUED)
    add("x/good", 5, benchmark_digest="trial", info=CATALOGUED)
    found = detail(api)
    assert found.digest == "everybody"
    assert [entry.model for entry in found.leaderboard] == ["x/good", "x/weak"]
    assert [version.digest for version in found.all_versions] == ["everybody", "trial"]


def test_another_version_of_a_benchmark_begins_anew(api: "ApiClient", add: Add) -> None:
    add("x/good", 80, benchmark_digest="before", info=CATALOGUED)
    add("x/weak", 40, benchmark_digest="before", info=CATALOGUED)
    add("x/good", 5, benchmark_digest="after", benchmark_version="2", info=CATALOGUED)
    assert detail(api).digest == "after"


def test_an_agent_that_says_nothing_shows_the_floor(api: "ApiClient", add: Add) -> None:
    add("builtin/empty", 10)
    add("x/weak", 0)
    found = detail(api)
    assert found.floor == 0.1
    assert places(found) == [("builtin/empty", None, None), ("x/weak", 1, 1)]


def test_a_store_without_runs_has_no_benchmarks(api: "ApiClient") -> None:
    assert page(api) == BenchmarkPage(items=[], cursor=None)


def test_a_benchmark_is_summed_up(api: "ApiClient", add: Add) -> None:
    add("builtin/random", 10)
    add("builtin/oracle", 100)
    add("x/good", 80)
    last = add("x/weak", 40)
    found = page(api).items[0]
    assert (found.id, found.title, found.version, found.kind) == ("words", "Word game", "1.0", "environment")
    assert (found.description, found.metric, found.higher_is_better) == ("Guess the word.", "solved", True)
    assert (found.versions, found.runs, found.models, found.floor, found.ceiling) == (1, 4, 4, 0.1, 1.0)
    assert found.last_run_at is not None
    assert found.last_run_at.timestamp() == last.created_at
    assert found.best is not None
    assert (found.best.model, found.best.rank, found.best.rank_last) == ("x/good", None, None)


async def test_runs_whose_difference_could_be_chance_share_places(api: "ApiClient", add: Add) -> None:
    # McNemar's test of 100 tasks needs five more passes: 80 against 76 and 76 against 72 are ties.
    for model, passed in (("x/c", 72), ("x/a", 80), ("builtin/oracle", 100), ("x/b", 76), ("builtin/random", 20)):
        await add.played(model, passed)
    found = detail(api)
    assert places(found) == [
        ("builtin/oracle", None, None),
        ("x/a", 1, 2),
        ("x/b", 1, 3),
        ("x/c", 2, 3),
        ("builtin/random", None, None),
    ]
    assert [entry.reference for entry in found.leaderboard] == ["ceiling", "", "", "", "floor"]


def test_the_latest_finished_and_scored_run_of_a_model_with_an_agent_counts(api: "ApiClient", add: Add) -> None:
    add("x/m", 90)
    latest = add("x/m", 50, usage=Usage(100, 20, cost_usd=0.5, calls=3))
    add("x/m", None)
    add("x/m", 99, status=RunStatus.STOPPED)
    add("x/m", 99, status=RunStatus.RUNNING)
    other = add("x/m", 30, agent="memory")
    found = detail(api).leaderboard
    assert [(entry.run_id, entry.agent, entry.runs) for entry in found] == [
        (latest.id, "loop", 2),
        (other.id, "memory", 1),
    ]
    assert (found[0].cost_usd, found[0].tokens, found[0].metric.value) == (0.5, 120, 0.5)


async def test_the_lowest_value_leads_where_lower_is_better(api: "ApiClient", add: Add) -> None:
    info = {"metrics": [{**INFO["metrics"][0], "higher_is_better": False}]}
    await add.played("x/many", 90, higher_is_better=False, info=info)
    await add.played("x/few", 10, higher_is_better=False, info=info)
    found = detail(api)
    assert places(found) == [("x/few", 1, 1), ("x/many", 2, 2)]
    assert not found.higher_is_better
    assert found.best is not None
    assert found.best.model == "x/few"


def test_the_leaderboard_is_of_the_newest_content_and_the_history_of_all(api: "ApiClient", add: Add) -> None:
    old = add("x/a", 90)
    new = add("x/b", 40, benchmark_digest="new", benchmark_version="2.0")
    late = add("x/a", 80)
    found = detail(api)
    assert (found.version, found.digest, found.versions, found.runs) == ("2.0", "new", 2, 3)
    assert [entry.run_id for entry in found.leaderboard] == [new.id]
    assert [(one.version, one.runs) for one in found.all_versions] == [("2.0", 1), ("1.0", 2)]
    assert [one.run_id for one in found.history] == [old.id, new.id, late.id]
    assert {one.benchmark_digest for one in found.history} == {"new", old.benchmark_digest}


def test_the_history_has_values_with_intervals_and_runs_without_a_score(api: "ApiClient", add: Add) -> None:
    add("x/a", 50)
    add("x/a", None)
    add("x/a", 70, status=RunStatus.FAILED)
    scored, empty = detail(api).history
    assert (scored.value, scored.n_scored, scored.n_planned) == (0.5, 100, 100)
    assert scored.low is not None
    assert scored.low < 0.5
    assert (empty.value, empty.low, empty.n_scored, empty.n_planned) == (None, None, 0, 100)


def test_a_history_ends_with_the_latest_thousand_runs(api: "ApiClient", add: Add) -> None:
    with patch("mesocosm.server.runs.benchmark_overview.READINGS", 3):
        runs = [add("x/a", passed) for passed in range(5)]
        assert [one.run_id for one in detail(api).history] == [run.id for run in runs[2:]]
    assert READINGS == 1_000


def test_a_benchmark_shows_its_own_description(api: "ApiClient", add: Add) -> None:
    add("x/a", 50)
    assert detail(api).info == INFO


@pytest.mark.parametrize("name", ["group/words", "a b/ü?#&%", "<script>alert(1)</script>", "words/", "x" * 300])
def test_any_id_can_be_asked_for(api: "ApiClient", add: Add, name: str) -> None:
    add("x/a", 50, benchmark=name)
    assert detail(api, name).id == name
    assert page(api).items[0].runs == 1


def test_an_unknown_benchmark_is_told_with_a_suggestion(api: "ApiClient", add: Add) -> None:
    assert "0 benchmarks are known" in api.get("/api/benchmarks/chess").json()["detail"]
    add("x/a", 50)
    answer = api.get("/api/benchmarks/word")
    assert answer.status_code == 404
    assert "did you mean 'words'" in answer.json()["detail"]


def test_benchmarks_come_in_pages_by_title(api: "ApiClient", add: Add) -> None:
    for name, title in (("1", "banana"), ("2", "Apple"), ("3", "cherry"), ("4", "apple"), ("5", "Äpfel")):
        add("x/a", 50, benchmark=name, benchmark_title=title)
    assert [item.id for item in page(api).items] == ["2", "4", "1", "3", "5"]
    seen, cursor = [], None
    while True:
        found = page(api, limit=2, **({"cursor": cursor} if cursor else {}))
        seen += [item.id for item in found.items]
        cursor = found.cursor
        if cursor is None:
            break
    assert seen == ["2", "4", "1", "3", "5"]


def test_a_cursor_of_something_else_is_told(api: "ApiClient") -> None:
    assert api.get("/api/benchmarks", params={"cursor": "nonsense"}).status_code == 400


def test_words_are_searched_in_title_id_and_kind(api: "ApiClient", add: Add) -> None:
    add("x/a", 50, benchmark="one/words", benchmark_title="Word Game")
    add("x/a", 50, benchmark="two/grid", benchmark_title="Grid", kind="command")
    for text, ids in (
        ("WORD game", ["one/words"]),
        ("command", ["two/grid"]),
        ("two word", []),
        ("", ["two/grid", "one/words"]),
    ):
        assert [item.id for item in page(api, q=text).items] == ids


async def test_a_new_run_a_new_score_and_a_deletion_show_at_once(api: "ApiClient", add: Add, shelf: Store) -> None:
    add("x/a", 50, benchmark="other")
    first = await add.played("x/a", 50)
    assert places(detail(api)) == [("x/a", 1, 1)]
    second = await add.played("x/b", 90)
    assert places(detail(api)) == [("x/b", 1, 1), ("x/a", 2, 2)]
    first.metrics = (measured(99),)
    shelf.runs.save(first)
    assert [entry.metric.value for entry in detail(api).leaderboard] == [0.99, 0.9]
    shelf.runs.delete(second.id)
    assert places(detail(api)) == [("x/a", 1, 1)]
    shelf.runs.delete(first.id)
    assert api.get("/api/benchmarks/words").status_code == 404
    assert [item.id for item in page(api).items] == ["other"]


def test_benchmarks_whose_runs_did_not_change_are_not_read_again(api: "ApiClient", add: Add) -> None:
    add("x/a", 50, benchmark="one")
    add("x/a", 50, benchmark="two")
    page(api)
    add("x/b", 60, benchmark="two")
    read: list[list[str]] = []
    lines = Benchmarks.lines

    def noted(self: Benchmarks, names: list[str], visible_to: Any = None) -> Any:
        read.append(list(names))
        return lines(self, names, visible_to)

    with patch.object(Benchmarks, "lines", noted):
        page(api)
        page(api)
    assert read == [["two"]]


def test_a_server_that_has_read_ahead_reads_no_lines_for_its_first_caller(
    shelf: Store, add: Add, serve: "Serve", monkeypatch: pytest.MonkeyPatch
) -> None:
    add("x/a", 50)
    monkeypatch.setattr(serving, "_AHEAD_S", 0.0)
    done = threading.Event()

    def reading(*given: Any) -> None:
        read_ahead(*given)
        done.set()

    monkeypatch.setattr(serving, "read_ahead", reading)
    with serve(shelf, benchmark_index=EmptyBenchmarkIndex()) as running:
        assert done.wait(20)
        with patch.object(Benchmarks, "lines", side_effect=AssertionError):
            assert running.get("/api/benchmarks").json()["items"][0]["runs"] == 1


def test_what_cannot_be_read_ahead_is_logged_and_the_server_goes_on(
    shelf: Store, serve: "Serve", monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(serving, "_AHEAD_S", 0.0)
    asked = threading.Event()

    def broken(*_given: object) -> None:
        asked.set()
        raise OSError("the disk is gone")

    monkeypatch.setattr(serving, "read_ahead", broken)
    with serve(shelf, benchmark_index=EmptyBenchmarkIndex()) as running:
        assert asked.wait(20)
        assert running.get("/api/health").status_code == 200
    assert "was not read ahead" in caplog.text


def test_lines_of_many_benchmarks_are_those_of_each(add: Add, shelf: Store) -> None:
    names = [f"b{n}" for n in range(8)]
    for name in names * 2:
        add("x/a", 50, benchmark=name)
    standings = shelf.benchmarks
    together = standings.lines(names)
    assert together == {name: standings.lines([name])[name] for name in names}
    assert {len(lines) for lines in together.values()} == {2}


def counts(*changes: tuple[str, str, float], **runs: int) -> BenchmarkCounts:
    return BenchmarkCounts(runs, frozenset(ChangedRun(*change) for change in changes))


def test_counts_tell_which_benchmarks_changed_since_another() -> None:
    before = counts(("a", "1", 5.0), ("b", "2", 6.0), a=1, b=1, c=7)
    assert before.changed(before) == set()
    assert counts(("a", "1", 5.0), ("b", "2", 8.0), a=1, b=1, c=7).changed(before) == {"b"}
    assert counts(("a", "1", 5.0), ("b", "2", 6.0), a=1, b=1, c=6).changed(before) == {"c"}
    # A clock that is behind, or a transaction that took long.
    assert counts(("a", "1", 5.0), ("b", "2", 6.0), ("a", "3", 1.0), a=2, b=1, c=7).changed(before) == {"a"}


def test_after_more_changes_than_the_counts_list_any_benchmark_may_have_changed() -> None:
    before = counts(("a", "1", 5.0), a=1)
    many = [("b", str(n), 10.0 + n) for n in range(LATEST)]
    assert counts(*many, a=1, b=LATEST).changed(before) is None


def test_an_overview_lives_as_long_as_its_store(blank: Path) -> None:
    opened = open_store(blank)
    records = local_records(opened)
    overview = weakref.ref(overview_of(records))
    assert overview_of(records) is overview()
    opened.close()
    del opened, records
    gc.collect()
    assert overview() is None
