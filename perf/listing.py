"""Listings of a large store: 100,000 runs, a run of 1,000,000 episodes, an episode of 300,000 events.

The store is generated once, in a few minutes, and kept for the next time in benchmark_results/perf-listing, or where
MESOCOSM_PERF_LISTING says: a directory, or postgresql://… for an empty database.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import UnknownName
from mesocosm.core.ports import Page
from mesocosm.core.run import RunStatus
from mesocosm.store import Store, open_store
from mesocosm.store.episode_lists import EPISODE_SORTS
from mesocosm.store.filters import EpisodeFilter, RunFilter
from mesocosm.store.run_lists import SORTS
from perf.large_store import EPISODES, EVENTS, LARGE, LONG, RUNS, generate
from perf.machine import ROOT, line

LISTS_MS = 50.0
STEP_MS = 50.0
"""Half of what the API has for a step."""

PAGE = 200
DEEP = 20
"""Pages followed along each order."""

Call = Callable[[], Any]


def listing() -> None:
    """Generate what is missing, then measure every kind of request."""
    given = os.environ.get("MESOCOSM_PERF_LISTING", str(ROOT / "benchmark_results" / "perf-listing"))
    place = given if "://" in given else Path(given) / "orchestrator.sqlite"
    store = open_store(place)
    try:
        store.runs.get(LARGE)
    except UnknownName:
        began = time.perf_counter()
        generate(place)
        seconds = time.perf_counter() - began
        print(f"  generated {RUNS:,} runs, {EPISODES:,} episodes, {EVENTS:,} events in {seconds:.0f} s")
    for name, budget, calls in (
        ("runs, every order, pages 1 to 20", LISTS_MS, _run_orders(store)),
        ("runs, filtered, every order", LISTS_MS, _run_filters(store)),
        ("runs, counts, facets and best", LISTS_MS, _run_numbers(store)),
        ("episodes, every order, pages 1 to 20", LISTS_MS, _episode_orders(store)),
        ("episodes, filtered, every order", LISTS_MS, _episode_filters(store)),
        ("episodes, counts and neighbours", LISTS_MS, _episode_numbers(store)),
        ("events of a step anywhere", STEP_MS, _steps(store)),
        ("a search in events, one request", 2 * STEP_MS, _searches(store)),
        ("messages of a model call", STEP_MS, _messages(store)),
        ("changes among the runs", 5.0, _changes(store)),
    ):
        _report(name, budget, calls)
    _report("series of the large run", 300.0, iter([("", lambda: store.episodes.series(LARGE))] * 3))
    store.close()


def _report(name: str, budget: float, calls: Iterator[tuple[str, Call]]) -> None:
    taken: list[tuple[float, str]] = []
    for what, call in calls:
        began = time.perf_counter()
        call()
        taken.append(((time.perf_counter() - began) * 1000, what))
    times = [ms for ms, _what in taken]
    p95 = statistics.quantiles(times, n=20)[-1] if len(times) >= 20 else max(times)
    line(f"{name}, p95 of {len(times):,}", p95, "ms", budget, above=False)
    slowest, what = max(taken)
    print(f"    median {statistics.median(times):.1f} ms, slowest {slowest:.1f} ms {what}")


def _pages(what: str, ask: Callable[..., Page], pages: int) -> Iterator[tuple[str, Call]]:
    cursor: list[str | None] = [None]

    def call() -> None:
        cursor[0] = ask(cursor=cursor[0], limit=PAGE).cursor

    for page in range(pages):
        if page and cursor[0] is None:
            return
        yield f"({what}, page {page + 1})", call


def _both(sorts: tuple[str, ...]) -> list[str]:
    return [direction + sort for sort in sorts for direction in ("", "-")]


def _run_orders(store: Store) -> Iterator[tuple[str, Call]]:
    for sort in _both(SORTS):
        yield from _pages(sort, partial(store.runs.list, sort=sort), DEEP)


RUN_FILTERS = {
    "finished": RunFilter(statuses=(RunStatus.FINISHED,)),
    "failed": RunFilter(statuses=(RunStatus.FAILED,)),
    "one model": RunFilter(models=("provider-3/model-13",)),
    "rare model": RunFilter(models=("provider-x/rare",)),
    "no such model": RunFilter(models=("none",)),
    "benchmark and model": RunFilter(benchmarks=("benchmark-007",), models=("provider-1/model-21",)),
    "tag": RunFilter(tags=("tag-11",)),
    "two tags, status": RunFilter(tags=("tag-11", "tag-12"), statuses=(RunStatus.FINISHED, RunStatus.STOPPED)),
    "common text": RunFilter(text="model"),
    "rare text": RunFilter(text="needle"),
    "two words": RunFilter(text="benchmark-01 sweep 77"),
    "no such text": RunFilter(text="nowhere to be found"),
    "last day": RunFilter(since=1.79e9 + 99_000 * 60.0),
    "an old day": RunFilter(since=1.79e9, until=1.79e9 + 86_400.0),
}


def _run_filters(store: Store) -> Iterator[tuple[str, Call]]:
    for name, wanted in RUN_FILTERS.items():
        for sort in _both(SORTS):
            ask = partial(store.runs.list, wanted, sort=sort)
            yield from _pages(f"{name} by {sort}", ask, 2)


def _run_numbers(store: Store) -> Iterator[tuple[str, Call]]:
    for name, wanted in RUN_FILTERS.items():
        yield f"(count of {name})", partial(store.runs.count, wanted)
    for _ in range(5):
        yield "(facets)", store.runs.facets


def _episode_orders(store: Store) -> Iterator[tuple[str, Call]]:
    for sort in _both(EPISODE_SORTS):
        yield from _pages(sort, partial(store.episodes.search, LARGE, sort=sort), DEEP)


EPISODE_FILTERS = {
    "completed": EpisodeFilter(statuses=(EpisodeStatus.COMPLETED,)),
    "failed": EpisodeFilter(statuses=(EpisodeStatus.FAILED,)),
    "truncated": EpisodeFilter(statuses=(EpisodeStatus.TRUNCATED,)),
    "rare cause": EpisodeFilter(causes=("environment_unreachable",)),
    "passed": EpisodeFilter(outcome="pass"),
    "did not pass": EpisodeFilter(outcome="fail"),
    "worst": EpisodeFilter(outcome="worst"),
    "missing": EpisodeFilter(outcome="missing"),
    "narrow scores": EpisodeFilter(score_low=0.5, score_high=0.5005),
    "wide scores": EpisodeFilter(score_low=0.2),
    "common text": EpisodeFilter(text="seed"),
    "rare text": EpisodeFilter(text="seed 77777"),
    "no such text": EpisodeFilter(text="nowhere"),
    "failed with text": EpisodeFilter(statuses=(EpisodeStatus.FAILED,), text="timed out"),
}


def _episode_filters(store: Store) -> Iterator[tuple[str, Call]]:
    for name, wanted in EPISODE_FILTERS.items():
        for sort in _both(EPISODE_SORTS):
            ask = partial(store.episodes.search, LARGE, wanted, sort)
            yield from _pages(f"{name} by {sort}", ask, 2)


def _episode_numbers(store: Store) -> Iterator[tuple[str, Call]]:
    middle = store.episodes.at(LARGE, EPISODES // 2, 1)[0]
    for first in range(0, EPISODES, EPISODES // 50):
        yield f"(at {first})", partial(store.episodes.at, LARGE, first, PAGE)
    for name, wanted in EPISODE_FILTERS.items():
        yield f"(count of {name})", partial(store.episodes.count, LARGE, wanted)
        for sort in ("position", "-duration", "score"):
            yield (
                f"(neighbours, {name} by {sort})",
                partial(store.episodes.neighbours, middle.id, wanted, sort),
            )


def _steps(store: Store) -> Iterator[tuple[str, Call]]:
    steps = store.episodes.get(LONG).steps
    for step in range(0, steps, steps // 100):

        def call(step: int = step) -> None:
            first = store.traces.first_event_of_step(LONG, step)
            assert first is not None
            assert store.traces.find(LONG, first=first, limit=PAGE).lines

        yield f"(step {step})", call


def _searches(store: Store) -> Iterator[tuple[str, Call]]:
    for text, kinds in (("needle", None), ("Größe", None), ("no such", None), ('say "', None), ("", {Kind.ERROR})):
        position: list[int | None] = [0]

        def call(text: str = text, kinds: Any = kinds, position: list[int | None] = position) -> None:
            page = store.traces.find(LONG, first=position[0] or 0, text=text, kinds=kinds and frozenset(kinds))
            position[0] = page.next

        requests = 0
        while position[0] is not None and requests < 200:
            requests += 1
            yield f"({text!r} {kinds or ''} request {requests})", call


def _messages(store: Store) -> Iterator[tuple[str, Call]]:
    calls = store.traces.find(LONG, kinds=frozenset({Kind.MODEL_CALL}), limit=1_000, budget_s=60.0).lines
    for text in calls[:: max(len(calls) // 100, 1)]:
        event = msgspec.json.decode(text)
        yield (
            f"(call at {event['seq']})",
            partial(store.traces.messages, LONG, event["payload"]["messages"], event["seq"]),
        )


def _changes(store: Store) -> Iterator[tuple[str, Call]]:
    watch = store.changes.watch()
    for _ in range(50):
        yield "(watch)", watch.changes
        yield "(changes)", lambda: store.changes.since(time.time() - 5)
    watch.close()
