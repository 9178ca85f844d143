"""The difference between a run and the last earlier one of the same configuration."""

import math

from mesocosm.core.failure import MesocosmError
from mesocosm.core.ids import digest_bytes
from mesocosm.core.run import Run
from mesocosm.engine.comparison.runs import compare_runs, going_on
from mesocosm.server.cache import Cache
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.runs.documents import run_summary
from mesocosm.server.runs.reader import RunReader
from mesocosm.server.schemas.document import discreet
from mesocosm.server.schemas.evaluation import PreviousRun, RunDifference

MOST_SAMPLES = 100_000
"""Maximum number of samples of a run that is compared without being asked for it."""

Found = tuple[RunDifference | None, str]

_differences = Cache[Found](2_000)


def previous_run(run: VisibleRun) -> PreviousRun:
    """Return the last earlier finished run of the same configuration, and the difference from it."""
    earlier = run.previous()
    if earlier is None:
        return PreviousRun(run=None, change=None, note="")
    change, note = _difference(earlier, run)
    return PreviousRun(run=run_summary(earlier.record, earlier.ownership()), change=change, note=note)


def _difference(earlier: VisibleRun, run: VisibleRun) -> Found:
    if going_on(run.record):
        return _compared(earlier, run)
    # Every change of a run's scores also changes its record.
    key = digest_bytes(repr([(one.view, one.record) for one in (earlier, run)]).encode())
    return _differences.get(key, lambda: _compared(earlier, run))


def _compared(earlier: VisibleRun, run: VisibleRun) -> Found:
    if run.record.counts.done == 0:
        return None, ""
    if _largest(earlier.record, run.record) > MOST_SAMPLES:
        return None, "These runs are large; compare them on the page Compare."
    if earlier.record.benchmark != run.record.benchmark:
        words = f"The earlier run is of the dataset {earlier.record.benchmark}, this one of {run.record.benchmark}."
        return None, words
    try:
        found = compare_runs(RunReader(earlier, run).score_rows, (earlier.record, run.record))
    except MesocosmError as error:
        return None, discreet(str(error))
    group = found.groups[0]
    if not group.pairs or group.metric is None:
        return None, group.note
    pair = group.pairs[0]
    contrast, delta = pair.contrast, pair.contrast.delta
    difference = RunDifference(
        metric=group.metric.name,
        delta=delta.value,
        low=delta.low if math.isfinite(delta.low) else None,
        high=delta.high if math.isfinite(delta.high) else None,
        weak=delta.weak,
        level=delta.level,
        p_value=contrast.found.p_value,
        paired=contrast.paired,
        n=contrast.n_b,
        verdict="tie" if pair.winner == "tie" else "better" if pair.winner == "b" else "worse",
    )
    return difference, group.note


def _largest(*runs: Run) -> int:
    return max(run.counts.planned for run in runs)
