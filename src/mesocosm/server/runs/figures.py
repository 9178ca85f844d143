"""Figures of a run that take a look at all its episodes, kept for as long as they are true or were costly."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from mesocosm.core.episode import Episode
from mesocosm.core.run import Run
from mesocosm.core.score import MetricResult
from mesocosm.engine.metrics import of_rows
from mesocosm.server.auth.visible_runs import VisibleRun
from mesocosm.server.runs.so_far import GOING, LATEST
from mesocosm.store.rows import primary_score

MOST = 200
"""Runs whose figures are kept."""

_PATIENCE = 20.0
"""Figures of a run that goes on stay for so many times what they cost: a twentieth of the time goes into them."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Metrics, failures by cause with the first episode of each, mean reward and mean steps.

    `ungraded` is the first episode for each cause why the primary score is missing although no episode failed of it.
    """

    metrics: tuple[MetricResult, ...]
    failures: tuple[tuple[str, int, Episode], ...]
    means: tuple[float | None, float | None]
    ungraded: tuple[tuple[str, Episode], ...]


_Key = tuple[str, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    figures: T
    of: tuple[Any, ...]
    fresh_until: float


class Book(Generic[T]):
    """Figures of the runs looked at latest. May be used from any thread."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, _Kept[T]] = OrderedDict()
        self._turns: dict[_Key, threading.Lock] = {}
        self._lock = threading.Lock()

    def of(self, run: VisibleRun, compute: Callable[[], T], name: str = "") -> T:
        """Return the figures of a run, those called `name`; those of a long run that goes on may be some seconds old.

        Raises what `compute` raises; then nothing is kept.
        """
        key, state = (run.view, name), _state(run.record)
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            kept = self._find(key)
            if kept is None or (kept.of != state and time.monotonic() > kept.fresh_until):
                kept = self._keep(key, run.record, state, compute)
        return kept.figures

    def _find(self, key: _Key) -> _Kept[T] | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: _Key, run: Run, state: tuple[Any, ...], compute: Callable[[], T]) -> _Kept[T]:
        start = time.monotonic()
        try:
            found = compute()
        except BaseException:
            with self._lock:
                if key not in self._kept:
                    self._turns.pop(key, None)
            raise
        now = time.monotonic()
        kept = _Kept(found, state, now + _PATIENCE * (now - start) if run.status in GOING else now)
        with self._lock:
            self._kept[key] = kept
            self._kept.move_to_end(key)
            while len(self._kept) > MOST:
                oldest, _ = self._kept.popitem(last=False)
                self._turns.pop(oldest, None)
        return kept


class FigureBook:
    """The figures of the runs looked at latest. May be used from any thread."""

    def __init__(self) -> None:
        self._book = Book[Figures]()

    def of(self, run: VisibleRun) -> Figures:
        """Return the figures of a run; those of a long run that goes on may be some seconds old."""
        return self._book.of(run, partial(_measured, run))


def _state(run: Run) -> tuple[Any, ...]:
    return (run.status, run.counts, run.ended_at, run.metrics, run.provenance.get("rescored_at"))


def _measured(run: VisibleRun) -> Figures:
    metrics = (
        _so_far(run) if run.record.status in GOING else run.record.metrics or of_rows(run.record, run.score_rows())
    )
    failures = run.failures()
    return Figures(metrics, failures, run.episode_means(), tuple(_ungraded(run, metrics, failures)))


def _ungraded(
    run: VisibleRun, metrics: Sequence[MetricResult], failures: Sequence[tuple[str, int, Episode]]
) -> Iterator[tuple[str, Episode]]:
    primary = next((metric for metric in metrics if metric.primary), None)
    score = primary_score(run.record.info, metrics)
    failed = {cause for cause, _, _ in failures}
    for cause in () if primary is None else primary.missing:
        first = None if cause in failed else run.first_missing(score, cause)
        if first is not None:
            yield cause, first


def _so_far(run: VisibleRun) -> tuple[MetricResult, ...]:
    """Return the metrics of a run that goes on; a resumed one still has those of its stop in its row."""
    known = LATEST.get(run)
    if known is not None and known.done == run.record.counts.done:
        return known.metrics
    metrics = of_rows(run.record, run.score_rows())
    LATEST.keep(run, metrics)
    return metrics
