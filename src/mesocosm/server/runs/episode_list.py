"""Episodes of runs: pages of a list, and single ones."""

from typing import Any

from mesocosm.core.episode import FINISHED, EpisodeStatus
from mesocosm.core.failure import InvalidInput, Problem, UnknownName
from mesocosm.core.run import Run
from mesocosm.core.verdict import Verdict
from mesocosm.engine.comparison.one_task import ModelTries, Trial, read_task
from mesocosm.server.permissions.visible_runs import VisibleEpisode, VisibleRun, VisibleRuns
from mesocosm.server.runs.documents import episode_detail, episode_summary, score_name
from mesocosm.server.runs.run_list import summaries
from mesocosm.server.schemas.document import discreet
from mesocosm.server.schemas.episode import (
    EpisodeDetail,
    EpisodePage,
    TaskAttempt,
    TaskAttempts,
    TaskDetail,
    TaskTrial,
    TriedDocument,
)
from mesocosm.server.schemas.query import EpisodeFilterQuery, EpisodePageQuery
from mesocosm.server.schemas.results import PartDocument
from mesocosm.store.filters import EpisodeFilter

_UNFINISHED = tuple(status for status in EpisodeStatus if status not in FINISHED)

_BUILTIN = "builtin/"
"""How the names of built-in agents begin: they are floor and ceiling, and no models."""

_SHOWN = 80
"""Characters of an unknown name that an error repeats."""

LARGEST = 2**63 - 1 - 1_000
"""Greatest index that a database query can take, with room for a page."""


def episode_page(run: VisibleRun, query: EpisodePageQuery) -> EpisodePage:
    """Return a page of the episodes of a run. Raises UsageError."""
    name = score_name(run.record)
    wanted = episode_filter(query)
    if query.at is not None:
        _by_place(query, wanted)
        found = run.episodes_at(min(query.at, LARGEST), query.limit)
        cursor = None
    else:
        page = run.episodes(wanted, episode_sort(query), query.cursor, query.limit)
        found, cursor = page.items, page.cursor
    whole = query.at is None and query.cursor is None and cursor is None
    total, exact = (len(found), True) if whole else _count(run, wanted)
    passing = run.record.passing
    items = [episode_summary(episode, name, passing, info=query.info) for episode in found]
    return EpisodePage(items=items, cursor=cursor, total=total, total_exact=exact)


def _count(run: VisibleRun, wanted: EpisodeFilter) -> tuple[int, bool]:
    if wanted != EpisodeFilter():
        return run.count_episodes(wanted)
    unfinished, exact = run.count_episodes(EpisodeFilter(statuses=_UNFINISHED))
    return run.record.counts.done + unfinished, exact


def episode_sort(query: EpisodeFilterQuery) -> str:
    """Return the sort order in terms of the store."""
    return query.sort.replace("index", "position")


def episode_filter(query: EpisodeFilterQuery) -> EpisodeFilter:
    """Return the filter in terms of the store."""
    return EpisodeFilter(
        statuses=tuple(EpisodeStatus(state) for state in query.state),
        causes=tuple(query.cause),
        text=query.q,
        outcome=query.outcome,
        score_low=query.low,
        score_high=query.high,
        task=query.task,
        label=query.label,
        mistake=query.mistake,
        behaviour=query.behaviour,
    )


def _by_place(query: EpisodePageQuery, wanted: EpisodeFilter) -> None:
    """Raise InvalidInput if `at` is combined with a cursor, a filter or an order other than by index."""
    problems = []
    if query.cursor is not None:
        problems.append(Problem("query.cursor", "a page begins at a cursor or at a place of the plan, not both"))
    if query.sort != "index" or wanted != EpisodeFilter():
        problems.append(Problem("query.at", "only the whole list, sorted by index, has places of the plan"))
    if problems:
        raise InvalidInput("the page", problems)


def task_attempts(episode: VisibleEpisode, runs: VisibleRuns) -> TaskAttempts:
    """Return all episodes of an episode's task that the caller may see, in every run of its benchmark."""
    found, whole = runs.of_task(episode.run.record.benchmark, episode.record.task_digest)
    items = [_attempt(one) for one in found]
    judged = [
        one.verdict
        for one in items
        if one.verdict in {Verdict.PASSED, Verdict.NOT_PASSED} and not one.model.startswith(_BUILTIN)
    ]
    return TaskAttempts(items=items, passed=judged.count(Verdict.PASSED), judged=len(judged), whole=whole)


def _attempt(one: VisibleEpisode) -> TaskAttempt:
    return TaskAttempt(**_attempt_fields(one))


def _attempt_fields(one: VisibleEpisode) -> dict[str, Any]:
    run, summary = one.run.record, episode_summary(one.record, score_name(one.run.record), one.run.record.passing)
    return {
        "episode_id": summary.id,
        "run_id": summary.run_id,
        "run_name": run.name,
        "model": discreet(run.model),
        "agent": run.agent,
        **{name: getattr(summary, name) for name in ("trial", "verdict", "score", "given", "why", "started_at")},
    }


def read_task_detail(benchmark: str, digest: str, runs: VisibleRuns) -> TaskDetail:
    """Return one task over all episodes of it that the caller may see. Raises UnknownName if there are none."""
    found, whole = runs.of_task(benchmark, digest)
    if not found:
        raise UnknownName(
            f"no finished episode of benchmark {benchmark[:_SHOWN]!r} is of a task {digest[:_SHOWN]!r} that you may "
            "see; the page of an episode leads to its task"
        )
    items = [TaskTrial(**_attempt_fields(one), group=_settings(one.run.record)) for one in found]
    # Who owns one of the runs knows what the task asks, whatever the others hide.
    shown = min(found, key=lambda one: one.run.redacted)
    task, run = shown.record, shown.run.record
    trials = [
        Trial(
            item.group,
            one.run.record.player or one.run.record.agent,
            one.run.record.model.startswith(_BUILTIN),
            item.verdict,
            item.score,
            item.given,
        )
        for one, item in zip(found, items, strict=True)
    ]
    summary = episode_summary(task, score_name(run), run.passing)
    reading = read_task(trials, "" if shown.run.redacted else summary.expected)
    records = {_settings(one.run.record): one.run.record for one in reversed(found)}
    return TaskDetail(
        benchmark=run.benchmark,
        benchmark_title=run.benchmark_title,
        **{name: getattr(summary, name) for name in ("task_id", "task_digest", "labels", "question", "expected")},
        input=task.input,
        target=task.target,
        reference=task.reference,
        standing=reading.standing.value,
        words=reading.words,
        **{name: getattr(reading, name) for name in ("models", "solved", "repeated", "mixed")},
        tried=[_tried(one, records[one.group]) for one in reading.tried],
        items=items,
        whole=whole,
    )


def _settings(run: Run) -> str:
    """Return what is equal for runs that only chance sets apart; imported runs may share a signature."""
    return f"{run.signature} {run.player or run.agent}"


def _tried(one: ModelTries, run: Run) -> TriedDocument:
    share = one.share
    return TriedDocument(
        name=discreet(" · ".join(filter(None, (one.player, run.differs)))),
        model=discreet(run.model),
        agent=run.agent,
        share=None
        if share is None
        else PartDocument(value=share.value, low=share.low, high=share.high, weak=share.weak, n=share.n),
        **{
            name: getattr(one, name)
            for name in (
                "group",
                "builtin",
                "trials",
                "passed",
                "judged",
                "low",
                "high",
                "mixed",
                "given",
                "given_by",
            )
        },
    )


def read_episode(episode: VisibleEpisode, runs: VisibleRuns) -> EpisodeDetail:
    """Return an episode in full, except its events."""
    run = episode.run
    (summary,) = summaries(runs, [run])
    return episode_detail(episode.record, run.record, summary, run.artifacts())
