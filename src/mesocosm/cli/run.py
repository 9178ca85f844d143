"""`mesocosm run …`: start, list, show, continue, stop, rescore and delete runs."""

from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import MORE, FiniteFloat, Tree, confirmed, executor_option, options, plural, view_option
from mesocosm.cli.gate_options import GateFlags, gate_options
from mesocosm.cli.limits import outage_options, same_server_option
from mesocosm.cli.remote.connection import Remote, RemoteGroup
from mesocosm.cli.remote.locate import elsewhere, remote_option
from mesocosm.cli.render import GOING, abandoned, answer, emit, print_result, scored, short, state, table, when
from mesocosm.cli.results import command_store, find_run
from mesocosm.core.failure import UnknownName, UsageError

if TYPE_CHECKING:
    from mesocosm.core.run import Run
    from mesocosm.store import Store

LONGEST_NAME = 200
STATUSES = ("pending", "running", "finished", "partial", "failed", "stopped", "interrupted")
_HERE = "mesocosm.cli.run"
TREE: Tree = {
    "list": (f"{_HERE}:list_", "List runs, newest first."),
    "show": ("mesocosm.cli.show:show", "Show a run: numbers with intervals, what is missing, configuration."),
    "logs": ("mesocosm.cli.episodes:logs", "Show what happened in a run, episode by episode."),
    "stop": (f"{_HERE}:stop", "Stop a run; finished episodes are kept."),
    "resume": (f"{_HERE}:resume", "Continue a run: only pending episodes are run."),
    "export": ("mesocosm.cli.episodes:export", "Write a run to a file: replay JSON, a bundle, or a table."),
    "local": ("mesocosm.cli.local:local", "Run episodes of an environment on this machine.", MORE),
    "watch": (f"{_HERE}:watch", "Follow a run of another process until it ends.", MORE),
    "rescore": (f"{_HERE}:rescore", "Recompute the scores and metrics of a run from its record.", MORE),
    "again": ("mesocosm.cli.again:again", "Ask a recorded model call once more.", MORE),
    "fork": ("mesocosm.cli.fork:fork", "Go on from a step of an episode with another model or action.", MORE),
    "rename": (f"{_HERE}:rename", "Give a run a name.", MORE),
    "delete": (f"{_HERE}:delete", "Permanently delete runs with their episodes and traces.", MORE),
    "episodes": ("mesocosm.cli.episodes:episodes", "List the episodes of a run, with --traces their events.", MORE),
    "create": ("mesocosm.cli.remote.run_create:create", "Start a run on the server.", MORE),
    "get": (
        "mesocosm.cli.remote.runs:get",
        "Print a run on the server with its episodes and scores, as JSON.",
        MORE,
    ),
    "visibility": ("mesocosm.cli.remote.runs:visibility", "Set who may see a run on the server.", MORE),
}


class RunCommands(RemoteGroup):
    """The commands of runs; a first word that is none of them is what to run."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or the one that runs what is named; `local gym:ID` is `gym:ID`."""
        if args[:1] == ["local"]:
            from mesocosm.cli.sources import named_sources, words_of_local

            if named_sources(args[1:]):
                from mesocosm.cli.what import run_what

                return args[0], run_what, words_of_local(args[1:])
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from mesocosm.cli.what import command_of

            found = command_of(args)
            if found is not None:
                return args[0], *found
        return super().resolve_command(ctx, args)


@click.group(cls=RunCommands, tree=TREE)
def run() -> None:
    """Run anything, and look at runs: `mesocosm run WHAT -m MODEL`, where WHAT is a folder with an environment or the
    URL of its server, a configuration, FILE.py:Class, FILE.py@benchmark, or the name of a benchmark.

    Name a run by any unique prefix of its id, by its name, by `last` or `last~1`.

    A run is looked up in the local results, then on the server where you are logged in; with --remote only there.
    """


@click.command("list", cls=Remote)
@click.option("--status", type=click.Choice(STATUSES), help="Runs with this status.")
@click.option("--benchmark", help="Runs of this benchmark.")
@click.option("--model", help="Runs of this model.")
@click.option("--search", "text", metavar="TEXT", help="Free text in names, models, benchmarks, tags.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Runs per page.")
@click.option("--cursor", help="Where the previous page ended.")
@click.option("--settle", is_flag=True, help="First stop runs whose process is gone, as bench recover-stale-runs does.")
@click.option("--remote", is_flag=True, help="List your runs on the server; --benchmark then names a domain.")
@click.option("--team", metavar="TEAM_ID", help="Runs of a team on the server.")
def list_(remote: bool, team: str | None, *, settle: bool, **given: Any) -> None:
    """List runs, newest first."""
    if remote or team:
        from mesocosm.cli.remote.runs import listed

        wanting = [name for name in ("status", "model", "text") if given[name]]
        if wanting:
            raise UsageError(f"runs on a server cannot be filtered by {', '.join(wanting)}; omit it")
        listed(given["limit"], given["cursor"], given["benchmark"], team)
        return
    from mesocosm.interop.record import run_item
    from mesocosm.store.filters import RunFilter
    from mesocosm.store.lease_owner import stored_as

    chosen = options()
    try:
        store = command_store()
    except UnknownName as error:
        raise UsageError(f"{error}; --remote lists your runs on the server") from error
    if settle:
        from mesocosm.cli.bench.history import STALE_S

        store.leases.recover(STALE_S)
    asked = given.pop("status")
    page = store.runs.list(RunFilter(statuses=stored_as([asked] if asked else [])), **given)
    found = [_whole(store, item) for item in page.items if asked in {None, state(item)}]
    if chosen.json:
        emit({"items": [run_item(item) for item in found], "next": page.cursor})
        return
    rows = []
    for item in found:
        score = scored(item.primary) + (" rescored" if item.regraded else " in doubt" if item.doubt else "")
        done = f"{item.counts.done:,}/{item.counts.planned:,}"
        rows.append([short(item.id, chosen), state(item), item.title, score, done, when(item.created_at)])
    if not rows:
        chosen_by = asked or any(given[name] for name in ("benchmark", "model", "text", "cursor"))
        click.echo(
            "no run matches; `mesocosm run list` shows all" if chosen_by else "no runs yet; `mesocosm demo` makes some"
        )
        if page.cursor:
            click.echo(f"more: --cursor {page.cursor}")
        return
    columns = ["id", "status", "run", "score", "episodes", "started"]
    table(columns, rows, chosen, right=(4,), whole=(0, 1, 4, 5), spare=(5, 4))
    if page.cursor:
        click.echo(f"more: --cursor {page.cursor}")


def _whole(store: "Store", listed: "Run") -> "Run":
    """Return a listed run with its full description, which shows doubts about it; unchanged if it was deleted."""
    try:
        return store.runs.get(listed.id)
    except UnknownName:
        return listed


@gate_options()
@click.command(cls=Remote)
@click.argument("run_id")
@click.option(
    "--interval", "every", type=FiniteFloat(min=0.1), default=1.0, show_default=True, help="Seconds between looks."
)
@remote_option
def watch(run_id: str, every: float, remote: bool) -> int:
    """Follow a run of another process or a server until it ends; exit as the run would.

    Ctrl-C ends the watching only. Conditions for gates are listed by mesocosm gate --help.
    """
    options().part(GateFlags).check()
    there = elsewhere(run_id, remote=remote)
    if there is not None:
        from mesocosm.cli.remote.watch import watched

        return watched(*there, every)
    return _watch(run_id, every)


def _watch(run_id: str, every: float) -> int:
    import time

    from mesocosm.cli.session import exit_code, judged
    from mesocosm.interop.record import run_document

    store, chosen = command_store(), options()
    item = find_run(store, run_id)
    chosen.part(GateFlags).prepare(store)
    shown = ""
    while True:
        line = f"{item.status}: {item.counts.done:,}/{item.counts.planned:,} done, {item.counts.failed:,} failed"
        if line != shown:
            click.echo(line, err=True)
            shown = line
        if item.status not in GOING:
            return judged(item, store, chosen, exit_code(item))
        if abandoned(item):
            click.echo(f"its process is gone; continue it with: mesocosm run resume {item.id}", err=True)
            if chosen.json:
                emit({"run": run_document(item)})
            return 3
        time.sleep(every)
        item = store.runs.get(item.id)


@click.command(cls=Remote)
@click.argument("run_id")
@remote_option
def stop(run_id: str, remote: bool) -> int:
    """Ask the process that works on a run to stop it; finished episodes are kept, and the rest can be resumed.

    A run on a server plays nothing more; finished episodes are kept.
    """
    there = elsewhere(run_id, remote=remote)
    if there is not None:
        from mesocosm.cli.remote import runs

        return runs.stop(*there)

    store = command_store()
    item = find_run(store, run_id)
    if item.status not in GOING:
        raise UsageError(f"run {item.id} is {item.status}; only a running one can be stopped")
    if abandoned(item):
        raise UsageError(f"run {item.id} has no living process; continue it with `mesocosm run resume {item.id}`")
    store.runs.request_stop(item.id)
    message = f"asked {item.holder} to stop run {item.id}; it answers within some seconds"
    answer(message, {"run_id": item.id, "stop_requested": True})
    return 0


@gate_options()
@click.command(
    cls=Remote,
    own=(
        "--retry-failed",
        "--parallel",
        "--run-seconds",
        "--run-tokens",
        "--budget",
        "--remote",
        "--view",
        "--fail-if",
    ),
)
@click.argument("run_id")
@click.option("--retry-failed", is_flag=True, help="Also repeat episodes that failed because of infrastructure.")
@click.option("--parallel", type=int, help="Episodes in parallel, instead of the run's own.")
@click.option("--run-seconds", type=FiniteFloat(min=0, min_open=True), help="Time budget of this session.")
@click.option("--run-tokens", type=click.IntRange(min=1), help="Token budget, including what was spent before.")
@click.option(
    "--budget",
    "--run-usd",
    "run_usd",
    type=FiniteFloat(min=0, min_open=True),
    metavar="USD",
    help="Budget in US dollars, including what was spent before.",
)
@outage_options
@executor_option
@same_server_option
@click.option("--quiet", is_flag=True, help="Do not show progress.")
@remote_option
@view_option
def resume(
    run_id: str,
    retry_failed: bool,
    parallel: int | None,
    same_server: bool,
    quiet: bool,
    remote: bool,
    view: bool | None,
    **budgets: Any,
) -> int:
    """Continue a run: only pending episodes are run.

    A server continues its runs by itself; this command requeues a run that was stopped or failed.
    """
    options().part(GateFlags).check()
    there = elsewhere(run_id, remote=remote)
    if there is not None:
        from mesocosm.cli.remote import runs

        if options().part(GateFlags).conditions or options().part(GateFlags).baselines:
            raise UsageError(
                f"run {run_id} is on the server, and this command does not wait for it; judge it when it has ended"
            )
        if parallel is not None or same_server or any(value is not None for value in budgets.values()):
            raise UsageError(f"run {run_id} is on the server, which keeps the settings that it was started with")
        return runs.resume(*there, retry_failed=retry_failed)
    from mesocosm.cli.session import resume_run
    from mesocosm.engine.session import SessionOptions

    options().quiet, options().view, options().opens = quiet, view, bool(view)
    at_once = None if parallel is None else max(parallel, 1)
    given = {name: value for name, value in budgets.items() if value is not None}
    return resume_run(run_id, SessionOptions(retry_failed, at_once, same_server=same_server), given)


@click.command(cls=Remote)
@click.argument("run_id")
@click.option("--manifest", metavar="FILE", help="Use the scoring of this manifest instead of the run's own.")
def rescore(run_id: str, manifest: str | None) -> None:
    """Recompute the scores and metrics of a run from its record, without running anything."""

    from pathlib import Path

    import msgspec

    from mesocosm.engine.rescoring import rescore_leased

    store = command_store()
    run = find_run(store, run_id)
    reference = run.spec.benchmark
    if manifest is not None:
        reference = msgspec.structs.replace(reference, source=str(Path(manifest).resolve()))
    print_result(rescore_leased(run, store, reference), store, options())


@click.command(cls=Remote)
@click.argument("run_id")
@click.argument("name")
@remote_option
def rename(run_id: str, name: str, remote: bool) -> int:
    """Give a run a name; with an empty one it is called by its benchmark, its model and what sets it apart."""
    there = elsewhere(run_id, remote=remote)
    if there is not None:
        client, found = there
        answered = client.runs.rename(found, name)
        answer(f"run {answered.id} is called {answered.name!r}", {"run_id": answered.id, "name": answered.name})
        return 0
    store = command_store()
    item, name = find_run(store, run_id), name.strip()
    if any(not letter.isprintable() for letter in name) or len(name) > LONGEST_NAME:
        raise UsageError(f"a name has at most {LONGEST_NAME} characters, none of them control characters")
    rival = store.runs.named(name, item.kind) if name else None
    if rival is not None and rival.id != item.id:
        raise UsageError(f"run {rival.id} is already called {name!r}; choose another name")
    store.runs.rename(item, name)
    answer(f"run {item.id} is called {item.title!r}", {"run_id": item.id, "name": name})
    return 0


@click.command(cls=Remote)
@click.argument("run_ids", nargs=-1, required=True, metavar="RUN...")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@remote_option
def delete(run_ids: tuple[str, ...], yes: bool, remote: bool) -> int:
    """Permanently delete runs with their episodes and traces."""
    places = {run_id: elsewhere(run_id, remote=remote) for run_id in run_ids}
    there = {place[1]: (place[0], place[0].runs.get(place[1])) for place in places.values() if place is not None}
    named = [run_id for run_id, place in places.items() if place is None]
    store = command_store() if named else None
    found = (
        [] if store is None else list({item.id: item for item in (find_run(store, name) for name in named)}.values())
    )
    episodes = sum(item.counts.done for item in found) + sum(run.counts.done for _, run in there.values())
    if not (yes or _agreed(len(found) + len(there), episodes)):
        click.echo("nothing was deleted", err=True)
        return 1
    for item in found:
        assert store is not None
        store.runs.delete(item.id)
        _deleted(item.id)
    for run_id, (client, _) in there.items():
        client.runs.delete(run_id)
        _deleted(run_id)
    if options().json:
        emit({"deleted": [item.id for item in found] + list(there)})
    return 0


def _deleted(run_id: str) -> None:
    if not options().json:
        click.echo(f"deleted run {run_id}")


def _agreed(runs: int, episodes: int) -> bool:
    return confirmed(f"delete {plural(runs, 'run')} with {plural(episodes, 'episode')}? This cannot be undone")
