"""Searches of what was said: pages of hits, and the sets that they are of."""

from collections import Counter
from dataclasses import replace

from mesocosm.server.permissions.visible_runs import VisibleRun, VisibleRuns
from mesocosm.server.runs.run_list import run_filter
from mesocosm.server.schemas.document import discreet
from mesocosm.server.schemas.search import RunSearchQuery, SearchHit, SearchPage, SearchQuery, VerdictCounts
from mesocosm.stats.interval import wilson
from mesocosm.store.search import SearchResult
from mesocosm.store.search_query import PLACES, read_query


def search_run(run: VisibleRun, query: RunSearchQuery) -> SearchPage:
    """Return a page of the episodes of a run that match. Raises UsageError."""
    found = run.search(read_query(query.text), verdict=query.verdict, cursor=query.cursor, limit=query.limit)
    return _page(found, {run.id: run}, first=query.cursor is None)


def search_runs(runs: VisibleRuns, query: SearchQuery) -> SearchPage:
    """Return a page of the episodes of all runs of a filter that match. Raises UsageError, Refusal."""
    asked = frozenset(query.state)
    wanted = replace(run_filter(query, asked), team=query.team, workspace=query.workspace)
    found = runs.search(
        read_query(query.text),
        wanted,
        whose=query.whose,
        verdict=query.verdict,
        cursor=query.cursor,
        limit=query.limit,
    )
    return _page(found.result, found.runs, first=query.cursor is None)


def _page(found: SearchResult, runs: dict[str, VisibleRun], *, first: bool) -> SearchPage:
    items = []
    for hit in found.hits:
        run = runs[hit.run_id].record
        items.append(
            SearchHit(
                run_id=run.id,
                run_name=run.name,
                benchmark=run.benchmark_title or run.benchmark,
                model=run.model,
                episode_id=hit.episode_id,
                index=hit.index,
                task_id=discreet(hit.task_id),
                verdict=hit.verdict,
                place=hit.where.said.word,
                event=hit.where.seq,
                step=hit.where.step,
                snippet=hit.where.snippet,
                marks=list(hit.where.marks),
            )
        )
    return SearchPage(
        items=items,
        cursor=found.cursor,
        matching=_counts(found.verdicts) if first else None,
        searched=_counts(found.all_verdicts) if first else None,
        places={name: found.places[name] for name in PLACES} if first else None,
        finished=found.finished if first else None,
        complete=found.complete,
    )


def _counts(verdicts: Counter[str]) -> VerdictCounts:
    judged = verdicts["passed"] + verdicts["not_passed"]
    interval = wilson(verdicts["passed"], judged) if judged else None
    return VerdictCounts(
        episodes=verdicts.total(),
        passed=verdicts["passed"],
        not_passed=verdicts["not_passed"],
        error=verdicts["error"],
        missing=verdicts["missing"],
        accuracy=None if interval is None else interval.value,
        accuracy_low=None if interval is None else interval.low,
        accuracy_high=None if interval is None else interval.high,
    )
