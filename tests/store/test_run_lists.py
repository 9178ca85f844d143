"""Runs in every order and under every filter, against the same done in Python."""

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Connection
from tests.store.conftest import all_pages

from mesocosm.core.failure import UsageError
from mesocosm.core.run import Counts, Run, RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.core.usage import Usage
from mesocosm.store import Store, run_lists
from mesocosm.store.filters import RunFilter
from mesocosm.store.pagination import write_cursor
from mesocosm.store.run_index import insert_run
from mesocosm.store.run_lists import SORTS

if TYPE_CHECKING:
    from tests.store.conftest import Samples


def metric(value: float | None) -> tuple[MetricResult, ...]:
    return (
        MetricResult("m", "mean", value, None, None, "t", 1, 1, 1, primary=True),
        MetricResult("other", "mean", 99.0, None, None, "t", 1, 1, 1),
    )


def insert(store: Store, made: list[Run]) -> None:
    def work(connection: Connection) -> None:
        for run in made:
            insert_run(store.database, connection, run)

    store.database.write(work)


def sixty(samples: "Samples") -> list[Run]:
    """Return sixty runs with ties and gaps in everything."""
    chance = random.Random(5)
    return [
        samples.run(
            id=f"run-{chance.randrange(10**6):06}-{number}",
            created_at=float(chance.randrange(20)),
            name=chance.choice(["", "Zeta", "alpha", "Ärger 100%", "a_b\\c", "x" * 300 + str(number)]),
            benchmark=f"bench-{chance.randrange(3)}",
            benchmark_digest=f"digest-{chance.randrange(2)}",
            kind=chance.choice(["environment", "dataset"]),
            model=chance.choice(["small", "large", "y" * 250 + "1", "y" * 250 + "2"]),
            agent=chance.choice(["loop", "react"]),
            group_id=chance.choice(["", "first", "second"]),
            attempt=chance.randrange(1, 4),
            status=chance.choice(list(RunStatus)),
            counts=Counts(10, completed=chance.randrange(10)),
            metrics=chance.choice([(), metric(None), metric(0.5), metric(chance.random()), metric(1.0)]),
            usage=Usage(
                chance.randrange(3), chance.randrange(3), 0, 0, chance.choice([None, 0.0, 0.5, chance.random()])
            ),
            started_at=1.0,
            ended_at=chance.choice([None, 2.0, 2.5]),
            tags=tuple(chance.sample(["one", "two", "100%", "a_b", "Ü"], chance.randrange(3))),
        )
        for number in range(60)
    ]


@pytest.fixture(scope="module")
def runs(shared_store: Store, samples: "Samples") -> list[Run]:
    """Return sixty runs that are stored, to be read."""
    made = sixty(samples)
    insert(shared_store, made)
    return made


def score(run: Run) -> float | None:
    return None if run.primary is None else run.primary.value


VALUES: dict[str, Callable[[Run], Any]] = {
    "id": lambda run: run.id,
    "created_at": lambda run: run.created_at,
    "benchmark": lambda run: run.benchmark,
    "agent": lambda run: run.agent,
    "attempt": lambda run: run.attempt,
    "name": lambda run: run.name.casefold()[:100],
    "model": lambda run: run.model[:100],
    "status": lambda run: run.status.value,
    "score": score,
    "cost": lambda run: run.usage.cost_usd,
    "tokens": lambda run: run.usage.total,
    "duration": lambda run: None if run.ended_at is None else run.ended_at - 1.0,
}


@pytest.fixture(params=[-1, 15, 5_000])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the index of a filter lead to no lines, to those of rare words, to all."""
    monkeypatch.setattr(run_lists, "_FEW", request.param)


@pytest.mark.usefixtures("few")
def test_every_order_is_that_of_python(shared_store: Store, runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    # Most that fit are found in one pass over all lines, some along the index.
    monkeypatch.setattr(run_lists, "_WINDOW", 15)

    for sort in [direction + sort for sort in SORTS for direction in ("", "-")]:
        value = VALUES[sort.removeprefix("-")]
        for wanted in (None, RunFilter(agents=("loop",))):
            found = list(all_pages(shared_store.runs.list, filter=wanted, sort=sort, limit=11))
            values = [value(run) for run in found]
            present = [item for item in values if item is not None]
            expected = sorted(present, reverse=sort[0] == "-") + [None] * (len(values) - len(present))
            assert values == expected, sort
            fits = Counter(run.id for run in runs if wanted is None or run.agent == "loop")
            assert Counter(run.id for run in found) == fits


@pytest.mark.parametrize("sort", ["status", "-score", "cost", "-duration"])
def test_equal_values_come_by_id(shared_store: Store, runs: list[Run], sort: str) -> None:
    value = VALUES[sort.removeprefix("-")]
    found = list(all_pages(shared_store.runs.list, sort=sort, limit=5))

    for first, second in pairwise(found):
        if value(first) == value(second):
            assert (first.id > second.id) is (sort[0] == "-")


FITS: list[tuple[RunFilter, Callable[[Run], bool]]] = [
    (RunFilter(statuses=(RunStatus.FINISHED, RunStatus.FAILED)), lambda run: run.status in {"finished", "failed"}),
    (RunFilter(benchmarks=("bench-0", "bench-2")), lambda run: run.benchmark != "bench-1"),
    (RunFilter(models=("y" * 250 + "1",)), lambda run: run.model == "y" * 250 + "1"),
    (RunFilter(kinds=("dataset",), agents=("react",)), lambda run: (run.kind, run.agent) == ("dataset", "react")),
    (RunFilter(groups=("first", "second")), lambda run: run.group_id != ""),
    (RunFilter(tags=("one",)), lambda run: "one" in run.tags),
    (RunFilter(tags=("one", "two")), lambda run: {"one", "two"} <= set(run.tags)),
    (RunFilter(tags=("100%",)), lambda run: "100%" in run.tags),
    (RunFilter(tags=("ONE",)), lambda run: False),
    (RunFilter(tags=("%",)), lambda run: False),
    (RunFilter(tags=("a_b",)), lambda run: "a_b" in run.tags),
    (RunFilter(tags=("Ü",)), lambda run: "Ü" in run.tags),
    (RunFilter(since=5.0, until=9.0), lambda run: 5.0 <= run.created_at < 9.0),
    (RunFilter(text="ÄRGER"), lambda run: run.name == "Ärger 100%"),
    (RunFilter(text="100%"), lambda run: run.name == "Ärger 100%" or "100%" in run.tags),
    (RunFilter(text="A_B\\"), lambda run: run.name == "a_b\\c"),
    (RunFilter(text="0_"), lambda run: False),
    (RunFilter(text="bench-1 zeta"), lambda run: (run.benchmark, run.name) == ("bench-1", "Zeta")),
    (RunFilter(text="nul\0l"), lambda run: False),
    (
        RunFilter((RunStatus.STOPPED,), ("bench-0",), agents=("loop",), text="word", since=3.0),
        lambda r: (r.status, r.benchmark, r.agent) == ("stopped", "bench-0", "loop") and r.created_at >= 3.0,
    ),
]


@pytest.mark.usefixtures("few")
def test_filters_leave_what_python_leaves(shared_store: Store, runs: list[Run]) -> None:
    for wanted, fits in FITS:
        expected = {run.id for run in runs if fits(run)}
        assert {run.id for run in all_pages(shared_store.runs.list, filter=wanted, limit=9)} == expected, wanted
        assert shared_store.runs.count(wanted) == (len(expected), True), wanted


def test_rare_runs_are_found_without_a_look_at_all_lines(
    sqlite_store: Store, samples: "Samples", planned: Callable[[Callable[[], object]], list[str]]
) -> None:
    insert(sqlite_store, [samples.run(model=f"model-{number}", tags=(f"tag-{number}",)) for number in range(20)])

    for wanted in (RunFilter(models=("model-7",)), RunFilter(tags=("tag-7",))):
        found = planned(partial(sqlite_store.runs.list, wanted, sort="name"))
        found += planned(partial(sqlite_store.runs.count, wanted))
        assert found
        assert not [step for step in found if step.startswith("SCAN run_lines")]
        assert sqlite_store.runs.count(wanted) == (1, True)


@pytest.mark.usefixtures("runs")
def test_counting_ends_where_it_was_told_to(shared_store: Store) -> None:
    assert shared_store.runs.count(most=60) == (60, True)
    assert shared_store.runs.count(most=59) == (59, False)


@pytest.mark.parametrize("sort", ["name", "-score", "-duration", "tokens"])
def test_runs_added_while_paging_move_nothing(store: Store, samples: "Samples", sort: str) -> None:
    insert(store, sixty(samples))
    before = [run.id for run in all_pages(store.runs.list, sort=sort, limit=50)]
    page = store.runs.list(sort=sort, limit=20)
    insert(store, [samples.run(name=name, benchmark=name, metrics=metric(0.4)) for name in ("", "m", "zz")])
    rest = [run.id for run in all_pages(store.runs.list, sort=sort, limit=9)]

    assert [run.id for run in page.items] == before[:20]
    after, seen = page.cursor, list(before[:20])
    while after is not None:
        following = store.runs.list(sort=sort, limit=9, cursor=after)
        seen += [run.id for run in following.items]
        after = following.cursor
    assert [run_id for run_id in seen if run_id in before] == before
    assert set(rest) > set(before)


@pytest.mark.parametrize("value", ["x", None, True, 2**70, "nul\0"])
@pytest.mark.parametrize("sort", ["attempt", "name", "tokens", "created_at"])
def test_a_cursor_with_another_kind_of_place_is_refused(store: Store, sort: str, value: Any) -> None:
    if sort == "name" and value == "x":
        value = 7
    with pytest.raises(UsageError, match="not of this listing"):
        store.runs.list(sort=sort, cursor=write_cursor(sort, [value, "id"]))


def test_infinite_scores_have_a_place_too(store: Store, samples: "Samples") -> None:
    made = [samples.run(metrics=metric(value)) for value in (float("-inf"), 0.0, float("inf"))]
    insert(store, made)

    assert [run.id for run in all_pages(store.runs.list, sort="score", limit=1)] == [run.id for run in made]


def test_facets_count_every_value(shared_store: Store, runs: list[Run]) -> None:
    facets = shared_store.runs.facets()

    for found, field in ((facets.statuses, "status"), (facets.agents, "agent"), (facets.kinds, "kind")):
        expected = Counter(str(getattr(run, field)) for run in runs)
        assert found == tuple(sorted(expected.items(), key=lambda item: (-item[1], item[0])))
    assert dict(facets.tags) == Counter(tag for run in runs for tag in run.tags)
    assert sum(count for _, count in facets.models) == len(runs)


async def test_lines_follow_what_a_run_does(store: Store, samples: "Samples") -> None:
    run = samples.held(store, status=RunStatus.RUNNING, name="mine")
    await samples.write(store, run.id, [samples.entry(run.id, 0), samples.entry(run.id, 1)])
    store.leases.release(run.id, store.leases.owner())
    store.runs.add(samples.run(usage=Usage(219, 0, 0, 0, 0.4)))

    assert [found.usage.total for found in store.runs.list(sort="tokens").items] == [219, 220]
    assert [found.usage.cost_usd for found in store.runs.list(sort="-cost").items] == [0.5, 0.4]
    now = store.runs.get(run.id)
    now.status = RunStatus.STOPPED
    store.runs.save(now)
    store.runs.set_tags(run.id, ["new"])
    fits = RunFilter(statuses=(RunStatus.STOPPED,), tags=("new",), text="NEW mine")
    assert [found.id for found in store.runs.list(fits).items] == [run.id]


def test_text_finds_tags_far_back(store: Store, samples: "Samples") -> None:
    store.runs.add(samples.run(name="n" * 900, tags=("far",)))

    assert store.runs.count(RunFilter(text="far")) == (1, True)


def test_words_longer_than_an_index_takes_are_stored_and_found(store: Store, samples: "Samples") -> None:
    chance = random.Random(1)
    long = "".join(chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(20_000))
    run = store.runs.add(samples.run(name=long, model=long, agent=long, tags=(long,)))

    found = store.runs.list(RunFilter(models=(long,), tags=(long,)), sort="model").items
    assert [item.id for item in found] == [run.id]
    assert store.runs.count(RunFilter(models=(long[:-1],))) == (0, True)
