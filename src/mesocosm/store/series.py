"""Data for the charts of a run: distribution of the score, score over the plan, work over time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from mesocosm.core.episode import FINISHED, EpisodeStatus
from mesocosm.store.database import batches
from mesocosm.store.schema import episodes

WHOLE = 10_000
"""Maximum episodes to read; from a longer run, this many are sampled evenly over the plan."""

BINS = 30
PLACES = 120


@dataclass(frozen=True, slots=True)
class Histogram:
    """Primary scores in bins of equal width from `low` to `high`, which the last bin includes.

    `n_missing` and `n_worst` are finished episodes without a value.
    """

    low: float
    high: float
    counts: tuple[int, ...]
    n_missing: int
    n_worst: int


class PlanBin(NamedTuple):
    """Finished episodes with plan positions `first` to `last`: how many, their mean score, how many failed."""

    first: int
    last: int
    n: int
    mean: float | None
    failed: int


class TimeBin(NamedTuple):
    """Episodes that ended from UNIX time `at` until the next bin; the cost is None if any is unknown."""

    at: float
    finished: int
    failed: int
    tokens: int
    cost_usd: float | None


class Play(NamedTuple):
    """A finished episode: its task, its primary score with the outcome (see ResultRow), its steps and tokens."""

    position: int
    cluster: str
    score: float | None
    outcome: str | None
    steps: int
    tokens: int | None


@dataclass(frozen=True, slots=True)
class RunSeries:
    """The charts of a run. `sampled` is the number of episodes they were computed from, None if that is all of them.

    `plays` are these episodes in the order of the plan, at most WHOLE; empty unless they were asked for.
    """

    histogram: Histogram
    by_position: tuple[PlanBin, ...]
    over_time: tuple[TimeBin, ...]
    sampled: int | None = None
    plays: tuple[Play, ...] = ()


class _Row(NamedTuple):
    position: int
    status: str
    score: float | None
    outcome: str | None
    ended_at: float | None
    tokens: int | None
    cost_usd: float | None
    steps: int
    cluster: str
    task_digest: str


_COLUMNS = [episodes.c[name] for name in _Row._fields]


def run_series(connection: Connection, run_id: str, *, plays: bool = False) -> RunSeries:
    """Return the data for the charts of a run, see Episodes.series."""
    rows, sampled = _read(connection, run_id)
    done = [row for row in rows if row.status in FINISHED]
    played = map(_play, done) if plays else ()
    return RunSeries(
        _histogram(done), _by_position(done), _over_time(done), len(rows) if sampled else None, tuple(played)
    )


def _play(row: _Row) -> Play:
    return Play(row.position, row.cluster or row.task_digest, row.score, row.outcome, row.steps, row.tokens)


def _read(connection: Connection, run_id: str) -> tuple[list[_Row], bool]:
    mine = episodes.c.run_id == run_id
    some = select(episodes.c.position).where(mine).limit(WHOLE + 1).subquery()
    if (connection.scalar(select(func.count()).select_from(some)) or 0) <= WHOLE:
        wanted = select(*_COLUMNS).where(mine).order_by(episodes.c.position)
        return [_Row(*row) for row in connection.execute(wanted)], False
    last = connection.scalar(select(func.max(episodes.c.position)).where(mine)) or 0
    step = max((last + 1) / WHOLE, 1.0)
    places = sorted({int(place * step) for place in range(WHOLE)})
    found: list[_Row] = []
    for batch in batches(places):
        wanted = select(*_COLUMNS).where(mine, episodes.c.position.in_(batch))
        found += [_Row(*row) for row in connection.execute(wanted.order_by(episodes.c.position))]
    return found, True


def _histogram(rows: Sequence[_Row]) -> Histogram:
    missing = sum(row.outcome == "missing" for row in rows)
    worst = sum(row.outcome == "worst" for row in rows)
    values = [row.score for row in rows if row.score is not None and math.isfinite(row.score)]
    if not values:
        return Histogram(0.0, 0.0, (), missing, worst)
    low, high = min(values), max(values)
    if low == high:
        return Histogram(low, high, (len(values),), missing, worst)
    counts = [0] * BINS
    # The difference of the largest floats overflows, that of their halves does not.
    scale = 1.0 if math.isfinite(high - low) else 0.5
    width = high * scale - low * scale
    for value in values:
        counts[min(int((value * scale - low * scale) / width * BINS), BINS - 1)] += 1
    return Histogram(low, high, tuple(counts), missing, worst)


def _by_position(rows: Sequence[_Row]) -> tuple[PlanBin, ...]:
    if not rows:
        return ()
    first, last = rows[0].position, rows[-1].position
    width = max(math.ceil((last - first + 1) / PLACES), 1)
    bins: dict[int, list[_Row]] = {}
    for row in rows:
        bins.setdefault((row.position - first) // width, []).append(row)
    return tuple(_plan_bin(first + place * width, width, last, some) for place, some in bins.items())


def _plan_bin(start: int, width: int, last: int, rows: Sequence[_Row]) -> PlanBin:
    scored = [row.score for row in rows if row.score is not None]
    mean = sum(score / len(scored) for score in scored) if scored and all(map(math.isfinite, scored)) else None
    return PlanBin(start, min(start + width - 1, last), len(rows), mean, _failed(rows))


def _failed(rows: Sequence[_Row]) -> int:
    return sum(row.status == EpisodeStatus.FAILED for row in rows)


def _over_time(rows: Sequence[_Row]) -> tuple[TimeBin, ...]:
    ended = [(row.ended_at, row) for row in rows if row.ended_at is not None]
    if not ended:
        return ()
    first, last = min(at for at, _ in ended), max(at for at, _ in ended)
    places = min(PLACES, len(ended)) if last > first else 1
    width = (last - first) / places
    bins: list[list[_Row]] = [[] for _ in range(places)]
    for at, row in ended:
        bins[min(int((at - first) / width), places - 1) if width else 0].append(row)
    return tuple(_time_bin(first + place * width, some) for place, some in enumerate(bins))


def _time_bin(at: float, rows: Sequence[_Row]) -> TimeBin:
    costs = [row.cost_usd for row in rows]
    known = [cost for cost in costs if cost is not None]
    tokens = sum(row.tokens or 0 for row in rows)
    return TimeBin(at, len(rows), _failed(rows), tokens, sum(known) if len(known) == len(costs) else None)
