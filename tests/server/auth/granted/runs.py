"""Runs and episodes."""

from collections.abc import Callable, Iterable
from typing import Any, get_args

from starlette.requests import Request
from tests.server.auth.granted.world import MAY_CHANGE, REFUSED, RUNS, World, dump, mark

from mesocosm.server.permissions.benchmark_records import BenchmarkRecords
from mesocosm.server.permissions.grant import Grant
from mesocosm.server.permissions.owned_runs import OwnedRun
from mesocosm.server.permissions.visible_runs import VisibleEpisode, VisibleRun, VisibleRuns, all_runs
from mesocosm.server.permissions.working_runs import WorkingRun
from mesocosm.server.runs.run_list import summaries
from mesocosm.server.schemas.episode import AgainInput
from mesocosm.server.schemas.run import RunChange
from mesocosm.server.schemas.run_estimate import ForecastInput
from mesocosm.server.schemas.run_request import BenchmarkInput, RunUpdate
from mesocosm.server.schemas.scan import ScanInput
from mesocosm.store.filters import EpisodeFilter, RunFilter, Whose
from mesocosm.store.search_query import read_query

SCAN = ScanInput(question="Does it refuse?", model="builtin/empty")
Objects = Callable[[World, Grant, str], Iterable[Any]]

OBJECTS: dict[type, Objects] = {
    BenchmarkRecords: lambda _world, grant, role: [] if role in {"nobody", "guest"} else [grant.benchmarks()],
    VisibleRuns: lambda _world, grant, _role: [grant.runs()],
    VisibleRun: lambda world, grant, role: [grant.run(run_id) for run_id in world.readable(role)],
    VisibleEpisode: lambda world, grant, role: [
        grant.runs().episode(world.episodes[name]) for name in RUNS if world.runs[name] in set(world.readable(role))
    ],
    WorkingRun: lambda world, grant, role: [
        grant.working_run(world.runs[name]) for name in (MAY_CHANGE[role] if role != "guest" else [])
    ],
    OwnedRun: lambda world, grant, role: [grant.own_run(world.runs[name]) for name in MAY_CHANGE[role]],
}


def _all(world: World, ask: Callable[[str], Any]) -> list[Any]:
    """Return the answers about all four runs, those that are refused left out."""
    found = []
    for name in RUNS:
        try:
            found.append(dump(ask(name)))
        except REFUSED:
            continue
    return found


def _change(world: World) -> RunChange:
    runs = all_runs(world.service)
    return RunChange(runs=summaries(runs, runs.page().items), deleted=[])


def _listen(runs: VisibleRuns) -> None:
    with runs.stream():
        pass


CALLS: dict[str, Callable[[Any, World], Any]] = {
    "VisibleRuns.get": lambda runs, world: _all(world, lambda name: runs.get(world.runs[name])),
    "VisibleRuns.several": lambda runs, world: runs.several(world.runs.values()),
    "VisibleRuns.page": lambda runs, _world: [runs.page(whose=whose).items for whose in ("", *get_args(Whose))],
    "VisibleRuns.of_task": lambda runs, _world: runs.of_task("words", "0" * 32),
    "VisibleRuns.shown": lambda runs, world: runs.shown(
        {run_id: world.service.store.runs.get(run_id) for run_id in world.runs.values()}
    ),
    "VisibleRuns.forecast": lambda runs, _world: runs.forecast(
        ForecastInput(runs=[BenchmarkInput(kind="benchmark", benchmark="eliza-format", model="builtin/random")])
    ),
    "VisibleRuns.newest_finished": lambda runs, _world: [runs.newest_finished("words", mark(name)) for name in RUNS],
    "VisibleRuns.count": lambda runs, _world: [runs.count(), runs.count(RunFilter(text="swordfish"))],
    "VisibleRuns.search": lambda runs, _world: [runs.search(read_query(text)) for text in ("swordfish", "-seen word*")],
    "VisibleRuns.facets": lambda runs, _world: runs.facets(),
    "VisibleRuns.changes": lambda runs, _world: runs.changes(0.0),
    "VisibleRuns.states": lambda runs, world: runs.states(list(world.runs.values())),
    "VisibleRuns.watch": lambda runs, _world: runs.watch().close(),
    "VisibleRuns.episode": lambda runs, world: _all(world, lambda name: runs.episode(world.episodes[name])),
    "VisibleRuns.blob": lambda runs, world: _all(world, lambda name: runs.blob(world.blobs[name])),
    "VisibleRuns.stream": lambda runs, _world: _listen(runs),
    "VisibleRuns.recognised": lambda runs, _world: runs.recognised(
        Request({"type": "http", "headers": [], "query_string": b"", "path": "/"})
    ),
    "VisibleRuns.seen": lambda runs, world: runs.seen(_change(world)),
    "VisibleRun.ownership": lambda run, _world: run.ownership(),
    "VisibleRun.episode": lambda run, world: _all(world, lambda name: run.episode(world.episodes[name])),
    "VisibleRun.episodes": lambda run, _world: [
        run.episodes(),
        *_refused(lambda: run.episodes(EpisodeFilter(text="swordfish"))),
    ],
    "VisibleRun.all_episodes": lambda run, _world: run.all_episodes(),
    "VisibleRun.episodes_at": lambda run, _world: run.episodes_at(0, 5),
    "VisibleRun.count_episodes": lambda run, _world: [
        run.count_episodes(),
        *_refused(lambda: run.count_episodes(EpisodeFilter(text="swordfish"))),
    ],
    "VisibleRun.neighbours": lambda run, _world: run.neighbours(run.episodes().items[0].id),
    "VisibleRun.events": lambda run, world: _all(world, lambda name: list(run.events(world.episodes[name]))),
    "VisibleRun.search": lambda run, _world: run.search(read_query("swordfish")),
    "VisibleRun.failures": lambda run, _world: run.failures(),
    "VisibleRun.first_missing": lambda run, _world: run.first_missing("solved", "agent_error"),
    "VisibleRun.episode_means": lambda run, _world: run.episode_means(),
    "VisibleRun.group": lambda run, _world: run.group(),
    "VisibleRun.artifacts": lambda run, _world: run.artifacts(),
    "VisibleRun.files": lambda run, _world: run.files(),
    "VisibleRun.file_page": lambda run, _world: run.file_page(None, 9),
    "VisibleRun.previous": lambda run, _world: run.previous(),
    "VisibleRun.series": lambda run, _world: run.series(),
    "VisibleRun.task_set": lambda run, _world: run.task_set(),
    "VisibleRun.score_rows": lambda run, _world: [*run.score_rows(), *run.score_rows("solved")],
    "VisibleRun.result_rows": lambda run, _world: run.result_rows("solved"),
    "VisibleRun.played": lambda run, _world: run.played([run.episodes().items[0].task_digest]),
    "VisibleRun.wrong_groups": lambda run, _world: run.wrong_groups("mistake"),
    "VisibleRun.entries": lambda run, _world: run.entries(),
    "VisibleRun.blobs": lambda run, _world: run.blobs(),
    "VisibleRun.get": lambda run, world: _all(world, lambda name: run.get(world.blobs[name])),
    "VisibleEpisode.events": lambda episode, _world: episode.events(),
    "VisibleEpisode.chunks": lambda episode, _world: episode.chunks(),
    "VisibleEpisode.find_events": lambda episode, _world: episode.find_events(
        first=0, kinds=None, text="swordfish", limit=9
    ),
    "VisibleEpisode.first_event_of_step": lambda episode, _world: episode.first_event_of_step(1),
    "VisibleEpisode.messages": lambda episode, _world: episode.messages([[0, 0]], 4, limit=9, budget_s=9.0),
    "BenchmarkRecords.contents": lambda records, _world: records.contents(),
    "BenchmarkRecords.counts": lambda records, _world: records.counts(),
    "BenchmarkRecords.lines": lambda records, _world: records.lines(["words"]),
    "BenchmarkRecords.runs": lambda records, world: records.runs(world.runs.values(), whole=True),
    "BenchmarkRecords.measured": lambda records, world: records.measured(world.runs.values()),
    "BenchmarkRecords.run": lambda records, world: _all(world, lambda name: records.run(world.runs[name])),
    "BenchmarkRecords.score_rows": lambda records, world: _all(
        world, lambda name: records.score_rows(world.runs[name])
    ),
    "BenchmarkRecords.outcomes_of_comparison": lambda records, _world: records.outcomes_of_comparison("none"),
    "BenchmarkRecords.group": lambda records, _world: records.group("none"),
    "BenchmarkRecords.viewer_data": lambda records, _world: records.viewer_data(),
    "BenchmarkRecords.kept": lambda records, _world: records.kept("nothing", lambda: "made"),
    "VisibleRun.log": lambda run, _world: run.log(),
    "VisibleRun.queue_position": lambda run, _world: run.queue_position(),
    "OwnedRun.again": lambda run, _world: run.again(),
    "VisibleRun.output": lambda run, _world: run.output(0),
    "WorkingRun.ask_again": lambda run, world: run.ask_again(world.episodes["private"], 0, AgainInput()),
    "WorkingRun.forecast": lambda run, _world: _refused(lambda: run.forecast(SCAN)),
    # On a laptop it starts a process.
    "WorkingRun.scan": lambda run, _world: _refused(lambda: run.scan(SCAN)) if run.request is not None else None,
    "OwnedRun.update": lambda run, _world: run.update(RunUpdate(tags=["seen"])),
    "OwnedRun.stop": lambda run, _world: run.stop(),
    "OwnedRun.resume": lambda run, _world: run.resume(),
    # On a laptop it starts a process (tests/server/auth/test_run_processes.py).
    "OwnedRun.rescore": lambda run, _world: run.rescore() if run.request is not None else None,
    "OwnedRun.delete": lambda run, _world: run.delete(),
}

TELLS = {
    *("VisibleRuns.blob", "VisibleRun.record", "VisibleRun.request", "VisibleRun.episodes", "VisibleRun.all_episodes"),
    *("VisibleRun.episodes_at", "VisibleRun.failures", "VisibleRun.events", "VisibleRun.artifacts", "VisibleRun.blobs"),
    *("VisibleRun.entries", "VisibleEpisode.record", "VisibleEpisode.events", "VisibleEpisode.chunks"),
    *("VisibleEpisode.find_events", "VisibleEpisode.messages"),
}
"""What shows the planted secret to the owner: if it did not, that it is hidden from others would prove nothing."""


def _refused(ask: Callable[[], Any]) -> list[Any]:
    try:
        return [ask()]
    except REFUSED:
        return []
