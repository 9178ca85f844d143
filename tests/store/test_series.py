"""The series of a run: every finished episode in one bin, whatever the numbers are."""

from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.entry import Entry
from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import Cause
from mesocosm.core.score import Score
from mesocosm.core.usage import Usage
from mesocosm.store import Store, series
from mesocosm.store.series import Histogram, RunSeries

if TYPE_CHECKING:
    from tests.store.conftest import Samples

INFO = {"metrics": [{"name": "m", "score": "m", "primary": True}]}


def series_of(store: Store, samples: "Samples", episodes: list[dict[str, Any]]) -> RunSeries:
    run = samples.run(info=INFO)
    store.bundles.insert(run, [Entry(samples.episode(run.id, place, **given)) for place, given in enumerate(episodes)])
    return store.episodes.series(run.id)


def test_scores_fall_into_bins_from_the_lowest_to_the_highest(store: Store, samples: "Samples") -> None:
    found = series_of(store, samples, [{"scores": (Score("m", value / 29),)} for value in range(30)] * 1)

    assert found.histogram == Histogram(0.0, 1.0, found.histogram.counts, 0, 0)
    assert len(found.histogram.counts) == 30
    assert sum(found.histogram.counts) == 30
    assert found.histogram.counts[-1] >= 1
    assert found.sampled is None


@pytest.mark.parametrize("values", [[1.0, 1.0], [-1.7e308, 1.7e308], [0.0, 5e-324], [float("inf"), 1.0], [1e308] * 20])
def test_no_number_breaks_the_series(store: Store, samples: "Samples", values: list[float]) -> None:
    found = series_of(store, samples, [{"scores": (Score("m", value),), "terminal_info": {}} for value in values])

    assert sum(found.histogram.counts) == sum(abs(value) < float("inf") for value in values)
    assert sum(bin_.n for bin_ in found.by_position) == len(values)


def test_what_has_no_value_is_counted_by_its_reason(store: Store, samples: "Samples") -> None:
    missing, worst = Score("m", missing=Cause.VALUE_MISSING), Score("m", worst=True)
    found = series_of(store, samples, [{"scores": (s,)} for s in (missing, worst, worst, Score("m", 2.0))])

    assert found.histogram == Histogram(2.0, 2.0, (1,), 1, 2)


def test_places_and_times_are_cut_evenly(store: Store, samples: "Samples") -> None:
    failed = {"status": EpisodeStatus.FAILED, "scores": ()}
    found = series_of(
        store,
        samples,
        [
            {"ended_at": 100.0 + n, "scores": (Score("m", float(n)),), **(failed if n % 10 == 0 else {})}
            | {"usage": Usage(2, 1, 0, 0, None if n == 5 else 0.5)}
            for n in range(240)
        ],
    )

    assert [(b.first, b.last, b.n) for b in found.by_position] == [(2 * k, 2 * k + 1, 2) for k in range(120)]
    assert [b.failed for b in found.by_position[:6]] == [1, 0, 0, 0, 0, 1]
    assert (found.by_position[0].mean, found.by_position[1].mean) == (1.0, 2.5)
    assert len(found.over_time) == 120
    assert sum(b.finished for b in found.over_time) == 240
    assert sum(b.failed for b in found.over_time) == 24
    assert sum(b.tokens for b in found.over_time) == 720
    assert [b.cost_usd for b in found.over_time[:3]] == [1.0, 1.0, None]
    assert found.over_time[0].at == 100.0


def test_a_pause_shows_as_empty_times(store: Store, samples: "Samples") -> None:
    found = series_of(store, samples, [{"ended_at": at} for at in (0.0, 1.0, 2.0, 1_000.0)])

    assert [b.finished for b in found.over_time] == [3, 0, 0, 1]
    assert found.over_time[1].cost_usd == 0.0


def test_what_is_not_finished_is_left_out(store: Store, samples: "Samples") -> None:
    found = series_of(store, samples, [{"status": EpisodeStatus.RUNNING, "ended_at": None, "scores": ()}])

    assert found == RunSeries(Histogram(0.0, 0.0, (), 0, 0), (), ())
    assert store.episodes.series("unknown") == found


def test_of_a_long_run_a_part_is_read_and_said_so(
    store: Store, samples: "Samples", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series, "WHOLE", 20)

    found = series_of(store, samples, [{"scores": (Score("m", float(n)),)} for n in range(100)])

    assert found.sampled == 20
    assert [b.first for b in found.by_position] == list(range(0, 100, 5))
    assert sum(found.histogram.counts) == 20
