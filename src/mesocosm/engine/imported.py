"""Compute the metrics of an imported run from its episodes, and compare them with what its file says."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.failure import UsageError
from mesocosm.core.model import ModelName
from mesocosm.core.run import AS_IMPORTED, RESCORING, UNVERIFIED, Run, RunStatus
from mesocosm.engine.metrics import disagreements, of_episodes, outcome

MOST_OWED = 1_000_000
"""Maximum number of planned episodes that a file may lack: each counts as the worst value in one metric reading."""


def measured(run: Run, episodes: Iterable[Episode]) -> Run:
    """Return a run with metrics computed from its finished episodes.

    If the scoring is unknown, the metrics stay as imported, and are marked. Raises UsageError if its row contradicts
    its episodes.
    """
    differences, made = [], run.spec.model.name
    # A file from another system may use any model name.
    with suppress(UsageError):
        made = ModelName.parse(made).shown()
    if run.model.partition("@")[0] != made.partition("@")[0]:
        differences.append(f"its model is {run.model!r}, and it was made with {made!r}")
    if run.info.get("metrics"):
        try:
            metrics = of_episodes(run, _whole(run, episodes))
        except (ValueError, OverflowError, msgspec.MsgspecError) as error:
            raise UsageError(f"run {run.id} cannot be measured: {error}; the file is damaged, or was edited") from error
        differences += disagreements(run, metrics)
        differences += [
            f"{one.n_scored:,} episodes have its {one.name}, and {one.n_planned:,} were planned to"
            for one in metrics
            if one.n_scored > one.n_planned
        ]
        # Episodes scored in two ways give no metrics: the earlier ones stay, as after an interrupted rescoring.
        if not run.provenance.get(RESCORING):
            run = msgspec.structs.replace(run, metrics=metrics)
            status, why = outcome(metrics, run.spec.limits.max_missing)
            if run.status is RunStatus.FINISHED and status is not RunStatus.FINISHED:
                run = msgspec.structs.replace(run, status=status, error=why)
    elif run.metrics:
        differences += _other_means(run, list(episodes))
        marked = {**run.provenance, UNVERIFIED: True}
        run = msgspec.structs.replace(
            run, provenance=marked, warnings=tuple(dict.fromkeys((*run.warnings, AS_IMPORTED)))
        )
    if differences:
        raise UsageError(
            f"run {run.id} is not what was exported: {'; '.join(differences)}; the file is damaged, or it was edited"
        )
    return run


def _whole(run: Run, episodes: Iterable[Episode]) -> Iterator[Episode]:
    """Yield all episodes. Raises UsageError if the file lacks too many of them for any export."""
    held = 0
    for episode in episodes:
        held += 1
        yield episode
    planned = max([run.counts.planned, *run.terms.parts.values()])
    if planned > held + MOST_OWED:
        raise UsageError(
            f"run {run.id} plans {planned:,} episodes, and the file holds {held:,}; at most {MOST_OWED:,} "
            "may be missing"
        )


def _other_means(run: Run, episodes: Sequence[Episode]) -> Iterator[str]:
    """Yield the means that differ from those of the scores of the same name, if every episode has one."""
    for metric in run.metrics:
        values = [score.value for one in episodes for score in one.scores if score.name == metric.name]
        known = [value for value in values if value is not None]
        if metric.aggregation != "mean" or metric.value is None or not known or len(known) != len(episodes):
            continue
        mean = sum(known) / len(known)
        if not math.isclose(metric.value, mean, rel_tol=1e-6, abs_tol=1e-9):
            yield f"its {metric.name} is stored as {metric.value}, its episodes give {mean}"
