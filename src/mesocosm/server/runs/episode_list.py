"""Episodes of runs: pages of a list, and single ones."""

from mesocosm.core.episode import FINISHED, EpisodeStatus
from mesocosm.core.failure import InvalidInput, Problem
from mesocosm.core.verdict import Verdict
from mesocosm.server.permissions.visible_runs import VisibleEpisode, VisibleRun, VisibleRuns
from mesocosm.server.runs.documents import episode_detail, episode_summary, score_name
from mesocosm.server.runs.run_list import summaries
from mesocosm.server.schemas.document import discreet
from mesocosm.server.schemas.episode import EpisodeDetail, EpisodePage, TaskAttempt, TaskAttempts
from mesocosm.server.schemas.query import EpisodeFilterQuery, EpisodePageQuery
from mesocosm.store.filters import EpisodeFilter

_UNFINISHED = tuple(status for status in EpisodeStatus if status not in FINISHED)

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
    judged = [one.verdict for one in items if one.verdict in {Verdict.PASSED, Verdict.NOT_PASSED}]
    return TaskAttempts(items=items, passed=judged.count(Verdict.PASSED), judged=len(judged), whole=whole)


def _attempt(one: VisibleEpisode) -> TaskAttempt:
    run, summary = one.run.record, episode_summary(one.record, score_name(one.run.record), one.run.record.passing)
    return TaskAttempt(
        episode_id=summary.id,
        run_id=summary.run_id,
        run_name=run.name,
        model=discreet(run.model),
        agent=run.agent,
        **{name: getattr(summary, name) for name in ("trial", "verdict", "score", "given", "why", "started_at")},
    )


def read_episode(episode: VisibleEpisode, runs: VisibleRuns) -> EpisodeDetail:
    """Return an episode in full, except its events."""
    run = episode.run
    (summary,) = summaries(runs, [run])
    return episode_detail(episode.record, run.record, summary, run.artifacts())
