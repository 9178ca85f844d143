"""Listings: every item once, in order, whatever the page size; found through an index."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Connection, event
from tests.store.conftest import all_pages

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import UsageError
from mesocosm.core.run import RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.store import Store
from mesocosm.store.run_index import insert_run
from mesocosm.store.run_lists import SORTS

if TYPE_CHECKING:
    from tests.store.conftest import Samples

    from mesocosm.core.run import Run


def metric(value: float | None) -> tuple[MetricResult, ...]:
    return (MetricResult("accuracy", "mean", value, None, None, "t", 1, 1, 1, primary=True),)


def ten(samples: "Samples") -> "list[Run]":
    """Return ten runs that differ in everything one can sort and filter by; several share each value."""
    return [
        samples.run(
            id=f"run-{number}",
            created_at=float(number // 2),
            benchmark=f"bench-{number % 3}",
            model=f"model-{number % 2}",
            status=list(RunStatus)[number % 5],
            metrics=() if number % 4 == 0 else metric(number % 3 / 2),
            name=f"Name {number} 100%",
            tags=(f"tag_{number}",),
            info={"large": "x"},
            group_id="first" if number < 3 else "",
        )
        for number in range(10)
    ]


def insert(store: Store, made: "list[Run]") -> None:
    def work(connection: Connection) -> None:
        for run in made:
            insert_run(store.database, connection, run)

    store.database.write(work)


@pytest.fixture
def runs(store: Store, samples: "Samples") -> "list[Run]":
    """Return ten stored runs."""
    made = ten(samples)
    insert(store, made)
    return made


@pytest.fixture(scope="module")
def shared_runs(shared_store: Store, samples: "Samples") -> "list[Run]":
    """Return ten stored runs, to be read."""
    made = ten(samples)
    insert(shared_store, made)
    return made


@pytest.mark.parametrize("direction", ["", "-"])
@pytest.mark.parametrize("sort", ["created_at", "benchmark", "model", "attempt", "name", "status"])
def test_every_run_comes_once_and_in_order(
    shared_store: Store, shared_runs: "list[Run]", sort: str, direction: str
) -> None:
    expected = sorted(
        shared_runs, key=lambda run: (getattr(run, sort), run.created_at, run.id), reverse=bool(direction)
    )

    for limit in (1, 3, 10, 50):
        found = list(all_pages(shared_store.runs.list, sort=direction + sort, limit=limit))
        assert [run.id for run in found] == [run.id for run in expected]


@pytest.mark.parametrize("direction", ["", "-"])
def test_runs_without_a_score_come_last(shared_store: Store, shared_runs: "list[Run]", direction: str) -> None:
    for limit in (1, 3, 7, 10, 50):
        found = list(all_pages(shared_store.runs.list, sort=f"{direction}score", limit=limit))

        values = [run.primary.value if run.primary else None for run in found]
        scored = [value for value in values if value is not None]
        assert values == sorted(scored, reverse=bool(direction)) + [None] * 3
        assert {run.id for run in found} == {run.id for run in shared_runs}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"status": RunStatus.FINISHED}, {2, 7}),
        ({"benchmark": "bench-1"}, {1, 4, 7}),
        ({"model": "model-0", "benchmark": "bench-0"}, {0, 6}),
        ({"group": "first"}, {0, 1, 2}),
        ({"text": "NAME"}, set(range(10))),
        ({"text": "tag_4"}, {4}),
        ({"text": "bench-2 tag_8"}, {8}),
        ({"text": "g_"}, set(range(10))),
        ({"text": "%"}, set(range(10))),
        ({"text": "_4_"}, set()),
        ({"text": "un-3"}, {3}),
        ({"text": "   "}, set(range(10))),
        ({"benchmark": "bench"}, set()),
    ],
)
@pytest.mark.usefixtures("shared_runs")
def test_filters_leave_what_they_name(shared_store: Store, given: dict[str, Any], expected: set[int]) -> None:
    for limit in (1, 50):
        assert {run.id for run in all_pages(shared_store.runs.list, limit=limit, **given)} == {
            f"run-{n}" for n in expected
        }


@pytest.mark.usefixtures("shared_runs")
def test_a_listed_run_has_all_but_its_wide_fields(shared_store: Store) -> None:
    listed = shared_store.runs.list(limit=1).items[0]

    whole = shared_store.runs.get(listed.id)
    assert whole.info == {"large": "x"}
    whole.info = {}
    assert listed == whole


@pytest.mark.usefixtures("runs")
def test_a_run_added_while_paging_moves_nothing(store: Store, samples: "Samples") -> None:
    first = store.runs.list(limit=4)
    store.runs.add(samples.run(created_at=time.time()))
    rest = store.runs.list(limit=10, cursor=first.cursor)

    assert [run.id for run in (*first.items, *rest.items)] == [f"run-{n}" for n in reversed(range(10))]


@pytest.mark.usefixtures("shared_runs")
@pytest.mark.parametrize("cursor", ["", "!", "W10", "bm9uc2Vuc2U", "é"])
def test_a_cursor_from_elsewhere_is_refused(shared_store: Store, cursor: str) -> None:
    with pytest.raises(UsageError, match="not of this listing"):
        shared_store.runs.list(cursor=cursor)
    with pytest.raises(UsageError, match="not of this listing"):
        shared_store.episodes.list("run-1", cursor=shared_store.runs.list(limit=1).cursor)


@pytest.mark.usefixtures("shared_runs")
def test_a_cursor_of_another_order_is_refused(shared_store: Store) -> None:
    cursor = shared_store.runs.list(limit=1, sort="model").cursor

    with pytest.raises(UsageError, match="not of this listing"):
        shared_store.runs.list(limit=1, sort="-model", cursor=cursor)


def test_an_unknown_order_names_the_known_ones(store: Store) -> None:
    with pytest.raises(UsageError, match=r"'--name'; choose one of created_at, name, benchmark, model"):
        store.runs.list(sort="--name")


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_page_of_impossible_size_is_refused(store: Store, limit: int) -> None:
    with pytest.raises(UsageError, match=f"not {limit}"):
        store.runs.list(limit=limit)
    with pytest.raises(UsageError, match=f"not {limit}"):
        store.episodes.list("run", limit=limit)


async def test_episodes_come_in_the_order_of_the_plan(store: Store, samples: "Samples") -> None:
    run, other = samples.held(store), samples.held(store)
    entries = [samples.entry(run.id, index) for index in (3, 1, 4, 0, 2)]
    # Two trials may share a place in the plan: digest and number decide then.
    twin = samples.entry(run.id, 1, trial=1)
    await samples.write(store, run.id, [*entries, twin])
    await samples.write(store, other.id, [samples.entry(other.id, 7)])

    for limit in (1, 2, 6, 200):
        found = list(all_pages(lambda **given: store.episodes.list(run.id, **given), limit=limit))
        assert [(episode.index, episode.trial) for episode in found] == [(0, 0), (1, 0), (1, 1), (2, 0), (3, 0), (4, 0)]
        assert found[2] == twin.episode


@pytest.mark.parametrize("status", list(EpisodeStatus))
async def test_episodes_are_filtered_by_status(store: Store, samples: "Samples", status: EpisodeStatus) -> None:
    run = samples.held(store)
    entries = [samples.entry(run.id, index, status=list(EpisodeStatus)[index % 7]) for index in range(14)]
    await samples.write(store, run.id, entries)

    found = list(all_pages(lambda **given: store.episodes.list(run.id, status=status, **given), limit=1))

    assert found == [entry.episode for entry in entries if entry.episode.status is status]


def test_benchmarks_are_listed_by_content_with_their_runs(store: Store, samples: "Samples") -> None:
    for number, content in enumerate(("old", "new", "new")):
        store.runs.add(samples.run(benchmark_digest=content, benchmark_version=content, created_at=float(number)))

    listed = store.benchmarks.list()

    assert [(row.id, row.digest, row.version, row.runs) for row in listed] == [
        ("words", "new", "new", 2),
        ("words", "old", "old", 1),
    ]


def sorted_by(sort: str) -> Callable[[Store], object]:
    return lambda store: store.runs.list(sort=sort, limit=2)


LISTINGS: dict[str, Callable[[Store], object]] = {
    **{f"runs by {sort}": sorted_by(sort) for sort in SORTS},
    **{f"runs by -{sort}": sorted_by(f"-{sort}") for sort in SORTS},
    "runs next": lambda store: store.runs.list(limit=2, cursor=store.runs.list(limit=1).cursor),
    "episodes": lambda store: store.episodes.list("run-1", limit=2),
    "failed episodes": lambda store: store.episodes.list("run-1", limit=2, status=EpisodeStatus.FAILED),
    "keys": lambda store: store.episodes.finished_keys("run-1"),
    "scores": lambda store: list(store.episodes.score_rows("run-1")),
    "events": lambda store: list(store.traces.events(store.episodes.get("run-1/0").id, first=2)),
    "prefix": lambda store: store.runs.get("run-1"),
    "place": lambda store: store.episodes.get("run-1/0"),
}


@pytest.mark.parametrize("name", LISTINGS)
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("runs")
async def test_listings_neither_sort_nor_read_whole_tables(store: Store, samples: "Samples", name: str) -> None:
    store.leases.take("run-1", store.leases.owner())
    await samples.write(store, "run-1", [samples.entry("run-1", index) for index in range(3)])
    asked: list[tuple[str, Any]] = []
    engine = store.database.engine

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith("SELECT"):
            asked.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    LISTINGS[name](store)
    event.remove(engine, "before_cursor_execute", note)

    assert asked
    used = ""
    with store.database.once() as connection:
        for statement, parameters in asked:
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters):
                used += row[3]
                # Scores of one episode may be sorted by name; the whole may not.
                assert "TEMP B-TREE FOR ORDER BY" not in row[3], statement
                assert not row[3].startswith("SCAN") or "USING" in row[3], f"{row[3]}: {statement}"
    assert "ix_episodes_unusual" in used or name != "failed episodes"
