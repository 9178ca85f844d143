"""The end of a session: metrics and status of its run, and the warnings for its readers."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from mesocosm.core.abilities import MeasuresWhole, Warns
from mesocosm.core.episode import SCOREABLE, Episode
from mesocosm.core.failure import EpisodeError, MesocosmError, RunLeased, writable
from mesocosm.core.ports import Benchmark, EngineStore
from mesocosm.core.proxy import JUDGE_CALLS
from mesocosm.core.run import RAN_ON, UNASKED, Run, RunStatus
from mesocosm.core.score import Metric, MetricResult
from mesocosm.engine.metrics import MEASURED, NOT_RUN, expected, of_whole, outcome, so_far
from mesocosm.engine.plan import part_sizes, size
from mesocosm.engine.rerun_decision import servers
from mesocosm.engine.session_state import SessionState

NOT_ASKED = (
    "no call of the model is on record, so what was scored did not come from it; a program must ask the address that "
    "it is given, not a server of its own choice"
)

ELSEWHERE = "elsewhere"
"""The place of episodes that were played in more places than are listed."""

MOST_PLACES = 50


def conclude(state: SessionState, stopped: str, error: Exception | None) -> None:
    """Store the final state of the run; the journal has stored its counters. Raises RunLeased if it was taken over."""
    store, messages = state.store, state.messages
    if store.runs.get(state.record.id).holder != state.lease_owner:
        raise RunLeased(f"run {state.record.id} was taken over by another process")
    if state.alike:
        # They say nothing about their tasks, so they are run again when the run is resumed.
        store.episodes.reset_failed(state.record.id)
    record = store.runs.get(state.record.id)
    info = state.parts.benchmark.info
    for part in (state.repeats, state.parts.benchmark, state.parts.model, state.parts.judge):
        for warning in part.warnings() if isinstance(part, Warns) else ():
            messages.add_warning(warning)
    record.provenance = {name: value for name, value in record.provenance.items() if name != UNASKED}
    if info.judged and record.usage.calls and _only_judged(state):
        record.provenance[UNASKED] = True
    if record.unasked:
        messages.warn(NOT_ASKED)
    record.warnings = tuple(messages.warnings)
    record.ended_at = time.time()
    worked = record.provenance.get("worked_s", 0.0) + time.monotonic() - state.started
    record.provenance = {**record.provenance, "worked_s": round(worked, 3)}
    record.provenance.pop("session_at", None)
    _name_server(state, record)
    if ran_on := _places(record, state.places):
        record.provenance[RAN_ON] = ran_on
    if info.growing:
        # Finished episodes stay, even if the rest of the plan that was discovered is no longer known.
        planned = max(size(state.parts.benchmark, record.spec.selection), record.counts.done)
        record.counts = msgspec.structs.replace(record.counts, planned=planned)
        state.record = record
        state.count_parts()
        store.runs.save_terms(record)
    record.metrics = so_far(record, store)
    if error is not None:
        # A stopped run whose benchmark could not be opened again has not failed: nothing has changed since.
        stays = state.status_before is RunStatus.STOPPED and not state.opened and record.counts.pending
        record.status = RunStatus.STOPPED if stays else RunStatus.FAILED
        reason = str(error) if isinstance(error, MesocosmError) else f"{type(error).__name__}: {error}"
        record.error = messages.redactor.text(writable(reason))
    elif record.counts.pending and (stopped or not state.withdrawn):
        record.status, record.error = RunStatus.STOPPED, stopped or "interrupted"
    else:
        _decide_status(state, record)
    if record.status in MEASURED:
        record.metrics += whole_metrics(state.parts.benchmark, record, state.store, state.messages.warn)
        record.warnings = tuple(messages.warnings)
    store.runs.save(record, state.lease_owner)
    state.record = record


def whole_metrics(
    benchmark: Benchmark, record: Run, store: EngineStore, warn: Callable[[str], None]
) -> tuple[MetricResult, ...]:
    """Return the numbers of the whole run that only its benchmark can make; a failure is a warning."""
    if not isinstance(benchmark, MeasuresWhole) or not benchmark.has_whole:
        return ()
    try:
        numbers = benchmark.whole(episode.terminal_info for episode in _scoreable(record, store))
    except EpisodeError as error:
        warn(f"numbers of the whole run are missing, since they could not be computed: {error}")
        return ()
    partial = [Metric(one.name, one.name, where=one.where) for one in numbers if one.where]
    parts = part_sizes(benchmark, record.spec.selection, partial) if partial else {}
    return of_whole(numbers, expected(record), parts)


def _only_judged(state: SessionState) -> bool:
    """Return whether all model calls of scored episodes were made by graders."""
    return all(
        episode.usage.calls <= episode.terminal_info.get(JUDGE_CALLS, 0)
        for episode in _scoreable(state.record, state.store)
    )


def _scoreable(record: Run, store: EngineStore) -> Iterator[Episode]:
    """Yield the scoreable episodes of the run."""
    cursor: str | None = None
    while True:
        page = store.episodes.list(record.id, cursor=cursor)
        yield from (episode for episode in page.items if episode.status in SCOREABLE)
        if page.cursor is None:
            return
        cursor = page.cursor


def _name_server(state: SessionState, record: Run) -> None:
    """Record which server answered: its address, a digest of its models, and the model names it answered with."""
    before, found = record.provenance.get("server", {}), servers(state.parts)
    for name, value in found.items():
        # If the server has moved, keep all its addresses, newest last.
        earlier = [one for one in before.get(name, "").split(", ") if one and one != value]
        found[name] = ", ".join((*earlier, value))
    judged = state.judge_served if state.parts.judge is not None else ()
    served = {"served": state.served, "judge_served": judged}
    found |= {name: ", ".join(names) for name, names in served.items() if names}
    if found:
        record.provenance["server"] = {**before, **found}


def _places(record: Run, played: Mapping[str, int]) -> dict[str, int]:
    """Return how many episodes were played where in all sessions; the places with the fewest count together."""
    counts = Counter(record.ran_on) + Counter(played)
    others = counts.pop(ELSEWHERE, 0)
    found = dict(counts.most_common(MOST_PLACES))
    others += counts.total() - sum(found.values())
    return {**found, ELSEWHERE: others} if others else found


def _decide_status(state: SessionState, record: Run) -> None:
    """Set the status of a run after all its episodes were executed.

    Episodes that failed because of infrastructure are pending. If there are too few of them to matter, the run is
    finished anyway, and they are marked as failed, without a value.
    """
    record.status, record.error = outcome(record.metrics, state.spec().limits.max_missing)
    if not record.metrics and not state.parts.benchmark.info.metrics and record.counts.scoreable:
        # Nothing is scored where there is no grader: the answers are the result.
        record.status, record.error = RunStatus.FINISHED, ""
    if not record.counts.pending:
        return
    withdrawn, redactor = list(state.withdrawn.values()), state.messages.redactor
    why = "; ".join(_causes(episode for _, episode in withdrawn))
    if record.status is RunStatus.FINISHED:
        state.store.episodes.settle_pending(record.id)
        record.counts = state.store.runs.get(record.id).counts
        record.metrics = so_far(record, state.store)
        return
    if record.status is RunStatus.FAILED:
        record.status, record.error = RunStatus.STOPPED, redactor.text(f"no episode could be scored: {why}")
    else:
        record.error = redactor.text(f"{record.error}: {why}")
    declared = {metric.name: metric for metric in state.parts.benchmark.info.metrics}
    record.metrics = tuple(
        _with_causes(
            result,
            [
                episode
                for task, episode in withdrawn
                if result.name not in declared or declared[result.name].covers(task)
            ],
        )
        for result in record.metrics
    )


def _with_causes(metric: MetricResult, withdrawn: Sequence[Episode]) -> MetricResult:
    """Return a metric with the failure causes of its pending episodes instead of `not_run`."""
    left = metric.missing.get(NOT_RUN, 0) - len(withdrawn)
    if left < 0:
        return metric
    causes = Counter(episode.failure.cause.value for episode in withdrawn if episode.failure is not None)
    missing = Counter({cause: count for cause, count in metric.missing.items() if cause != NOT_RUN}) + causes
    return msgspec.structs.replace(metric, missing=dict(sorted((missing + Counter({NOT_RUN: left})).items())))


def _causes(withdrawn: Iterable[Episode]) -> Iterator[str]:
    """Yield the number of failed episodes for each cause, with the message of the first one."""
    failures = [episode.failure for episode in withdrawn if episode.failure is not None]
    for cause, count in Counter(failure.cause for failure in failures).most_common():
        words = next(failure.message for failure in failures if failure.cause is cause).partition("\n")[0]
        yield f"{count:,} {cause} ({words if len(words) <= 200 else f'{words[:199]}…'})"
