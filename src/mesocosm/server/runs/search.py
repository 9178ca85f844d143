"""Searches of what was said: pages of hits, and the sets that they are of."""

from dataclasses import replace

from mesocosm.interop.search import search_document
from mesocosm.server.permissions.visible_runs import VisibleRun, VisibleRuns
from mesocosm.server.runs.run_list import run_filter
from mesocosm.server.schemas.document import shortened
from mesocosm.server.schemas.search import RunSearchQuery, RunsSearchQuery, SearchPage
from mesocosm.store.search_query import read_query


def search_run(run: VisibleRun, query: RunSearchQuery) -> SearchPage:
    """Return a page of the episodes of a run that match. Raises UsageError."""
    found = run.search(read_query(query.text), verdict=query.verdict, cursor=query.cursor, limit=query.limit)
    document = search_document(found, {run.id: run.record}, first=query.cursor is None)
    return SearchPage.model_validate(shortened(document))


def search_runs(runs: VisibleRuns, query: RunsSearchQuery) -> SearchPage:
    """Return a page of the episodes of all runs of a filter that match. Raises UsageError, Refusal."""
    found = runs.search(
        read_query(query.text),
        replace(run_filter(query, frozenset(query.state)), team=query.team, workspace=query.workspace),
        whose=query.whose,
        verdict=query.verdict,
        cursor=query.cursor,
        limit=query.limit,
    )
    records = {run_id: run.record for run_id, run in found.runs.items()}
    return SearchPage.model_validate(shortened(search_document(found.result, records, first=query.cursor is None)))
