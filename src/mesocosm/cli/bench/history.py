"""`bench show-runs`, `recover-stale-runs`, `export-viewer-data` and `serve-viewer`: earlier runs."""

import click

from mesocosm.cli.command import FiniteFloat, MesocosmCommand, options, plural
from mesocosm.cli.render import answer, emit, number
from mesocosm.cli.results import command_store

STALE_S = 300.0
HOST, PORT = "127.0.0.1", 8877


@click.command("show-runs", cls=MesocosmCommand)
@click.option("--limit", type=click.IntRange(min=1), default=200, show_default=True, help="Maximum number of runs.")
@click.option("--desc", is_flag=True, help="Reverse the order.")
def show_runs(limit: int, desc: bool) -> None:
    """List runs, sorted by agent and run id."""
    from mesocosm.compat.viewer_data import shown_runs

    chosen = options()
    rows = shown_runs(chosen.database() or chosen.results(), limit=limit, desc=desc)
    if chosen.json:
        emit({"runs": rows})
        return
    for row in rows:
        score = "–" if row["score"] is None else number(row["score"])
        missing = ",".join(f"{cause}:{count}" for cause, count in row["missing"].items())
        click.echo(
            f"{row['started_at']} benchmark={row['benchmark_id']} run_id={row['run_id']} agent={row['agent']} "
            f"provider={row['provider']} model={row['model']} status={row['status']} score={score}"
            + (f" missing={missing}" if missing else "")
        )
    if not rows:
        click.echo("no runs yet; `mesocosm bench run` makes some", err=True)


@click.command("recover-stale-runs", cls=MesocosmCommand)
@click.option(
    "--stale-seconds",
    type=FiniteFloat(min=0),
    default=STALE_S,
    show_default=True,
    help="Seconds of silence after which a process on another machine counts as gone; 0: immediately.",
)
@click.option("--force", is_flag=True, help="Also take runs from processes that are alive.")
def recover_stale_runs(stale_seconds: float, force: bool) -> None:
    """Mark runs as interrupted whose process is gone, and refresh the viewer's data.

    A run with a living process is never touched, however old it is, unless --force is given. Its finished episodes are
    kept: the same `bench run` continues it.
    """
    from mesocosm.compat.viewer_data import write_viewer_data

    store, chosen = command_store(), options()
    found = store.leases.recover(stale_seconds, force=force)
    path = write_viewer_data(store, chosen.results())
    if chosen.json:
        ids = {"runs": [run.id for run in found.runs], "run_groups": list(found.groups)}
        emit({"recovered": len(found.runs), **ids, "viewer_data": str(path)})
        return
    click.echo(f"recovered {plural(len(found.runs), 'stale run')}, closed {plural(len(found.groups), 'run group')}")
    for run in found.runs:
        counts = run.counts
        click.echo(f"  {run.id}  {run.benchmark}  {run.model}  {counts.done:,}/{counts.planned:,} finished")
    click.echo(f"data for the viewer in {path}")


@click.command("export-viewer-data", cls=MesocosmCommand)
def export_viewer_data() -> None:
    """Write viewer_data.json from the results, and print where it is."""
    from mesocosm.compat.viewer_data import write_viewer_data

    path = write_viewer_data(command_store(), options().results())
    answer(str(path), {"viewer_data": str(path)})


@click.command("serve-viewer", cls=MesocosmCommand)
@click.option("--host", default=HOST, show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, help="Port, 0 for any.")
@click.pass_context
def serve_viewer(context: click.Context, host: str, port: int) -> int:
    """Serve the viewer of the results: history, scores, comparisons, every episode. Ctrl-C stops it."""
    from mesocosm.cli.view import view

    code = context.invoke(view, host=host, port=port, no_open=True, idle_minutes=None, fd=None)
    return code if isinstance(code, int) else 0
