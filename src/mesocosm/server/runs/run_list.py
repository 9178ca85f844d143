"""Lists of runs: conversion of queries to filters of the store, and their results."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from mesocosm.core.run import Run, RunStatus
from mesocosm.server.cache import Cache
from mesocosm.server.permissions.visible_runs import VisibleRun, VisibleRuns
from mesocosm.server.runs.documents import run_summary, state_of
from mesocosm.server.runs.running_metrics import GOING, LATEST
from mesocosm.server.schemas.query import RunFilterQuery, RunQuery
from mesocosm.server.schemas.run import Facet, RunFacetsDocument, RunPage, RunSummary, State
from mesocosm.store.changes import RunChanges, RunState
from mesocosm.store.filters import RunFilter
from mesocosm.store.lease_owner import abandoned

_ROUNDS = 2
"""Pages of the store read for one page of runs when live and interrupted runs have to be distinguished."""


_MANY = 100
"""Unfinished runs whose states are looked up once a second instead of for each list."""


@dataclass(frozen=True, slots=True)
class _Going:
    """Unfinished runs: those with a live process, and those whose process is gone."""

    alive: tuple[RunState, ...]
    gone: tuple[RunState, ...]


_known = Cache[_Going](20, seconds=1.0)


def run_page(runs: VisibleRuns, query: RunQuery) -> RunPage:
    """Return a page of runs. Raises UsageError."""
    asked = _simpler(runs, query.state)
    wanted = replace(
        run_filter(query, asked),
        team=query.team,
        environment=query.environment,
        workspace=query.workspace,
        datasets=tuple(query.dataset),
        dataset_versions=tuple(query.dataset_version),
        configurations=tuple(query.configuration),
        branches=tuple(query.branch),
        creators=tuple(query.creator),
        tests=query.tests,
        builtin=query.builtin,
    )
    sort = query.sort.replace("state", "status")
    if query.state and not asked:
        return RunPage(items=[], cursor=None, total=0, total_exact=True)
    if not _told_apart(asked):
        page = runs.page(wanted, whose=query.whose, cursor=query.cursor, limit=query.limit, sort=sort)
        whole = query.cursor is None and page.cursor is None
        total, exact = (len(page.items), True) if whole else runs.count(wanted, whose=query.whose)
        return RunPage(items=summaries(runs, page.items), cursor=page.cursor, total=total, total_exact=exact)
    found: list[VisibleRun] = []
    cursor, rounds = query.cursor, 0
    while True:
        page = runs.page(wanted, whose=query.whose, cursor=cursor, limit=query.limit - len(found), sort=sort)
        found += [run for run in page.items if state_of(run.record) in asked]
        cursor, rounds = page.cursor, rounds + 1
        if cursor is None or len(found) == query.limit or rounds == _ROUNDS:
            break
    whole = query.cursor is None and cursor is None
    return RunPage(items=summaries(runs, found), cursor=cursor, total=len(found), total_exact=whole)


def _told_apart(asked: frozenset[State]) -> bool:
    """Return whether some but not all unfinished states are requested, so that interrupted runs must be recognised."""
    some = asked & {"pending", "running", "interrupted"}
    return bool(some) and len(some) < 3


def _simpler(runs: VisibleRuns, states: Iterable[State]) -> frozenset[State]:
    """Return the requested states, simplified if unfinished runs are all live or all interrupted, as is usual."""
    asked = frozenset(states)
    if not _told_apart(asked):
        return asked
    changes = runs.changes(time.time())
    if not changes.complete:
        return asked
    going = _going(runs, changes)
    if going.alive and going.gone:
        return asked
    both = frozenset[State](("pending", "running", "interrupted"))
    alike: frozenset[State] = frozenset(("pending", "running")) if going.alive else frozenset(("interrupted",))
    if not asked & alike:
        return asked - both
    return asked | both if alike <= asked else asked


def _going(runs: VisibleRuns, changes: RunChanges) -> _Going:
    if len(changes.active) < _MANY:
        return _looked_up(runs, changes)
    return _known.get((runs.view, changes.active), lambda: _looked_up(runs, changes))


def _looked_up(runs: VisibleRuns, changes: RunChanges) -> _Going:
    states = runs.states(changes.active)
    # A RunState has the fields that `abandoned` reads.
    gone = {state.id for state in states if abandoned(cast("Run", state))}
    return _Going(
        alive=tuple(state for state in states if state.id not in gone),
        gone=tuple(state for state in states if state.id in gone),
    )


def run_filter(query: RunFilterQuery, asked: frozenset[State]) -> RunFilter:
    """Return the store's filter for a query with the states `asked`; the store cannot distinguish interrupted runs."""
    statuses = {status for status in RunStatus if status.value in asked}
    if "interrupted" in asked:
        statuses.update(GOING)
    return RunFilter(
        statuses=tuple(sorted(statuses)),
        benchmarks=tuple(query.benchmark),
        models=tuple(query.model),
        agents=tuple(query.agent),
        kinds=tuple(query.kind),
        tags=tuple(query.tag),
        groups=tuple(query.group),
        text=query.q,
    )


def summaries(runs: VisibleRuns, page: Sequence[VisibleRun]) -> list[RunSummary]:
    """Return runs as rows; those in progress with their metrics so far."""
    records = LATEST.shown(runs, page)
    return [run_summary(record, run.ownership()) for record, run in zip(records, page, strict=True)]


def facets(runs: VisibleRuns) -> RunFacetsDocument:
    """Return the values of all filters with their numbers of runs."""
    found = runs.facets()
    return RunFacetsDocument(
        state=_states(runs, dict(found.statuses)),
        benchmark=_facet(found.benchmarks),
        model=_facet(found.models),
        agent=_facet(found.agents),
        kind=_facet(found.kinds),
        tag=_facet(found.tags),
        workspace=_facet(found.workspaces),
        configuration=_facet(found.configurations),
        branch=_facet(found.branches),
        creator=_facet(found.creators),
    )


def _facet(values: Sequence[tuple[str, int]]) -> list[Facet]:
    return [Facet(value=value, count=count) for value, count in values]


def _states(runs: VisibleRuns, counts: dict[str, int]) -> list[Facet]:
    """Return the states of runs with their numbers; of very many unfinished runs, only some are examined."""
    if any(counts.get(status) for status in GOING):
        gone = _going(runs, runs.changes(time.time())).gone
        for state in gone:
            counts[state.status] -= 1
        counts["interrupted"] = len(gone)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [Facet(value=value, count=count) for value, count in ordered if count > 0]
