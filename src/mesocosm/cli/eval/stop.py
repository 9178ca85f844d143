"""`mesocosm eval stop NAME`."""

import click

from mesocosm.cli.command import MesocosmCommand
from mesocosm.cli.eval.on_server import found_on_server, server_option
from mesocosm.cli.render import GOING, abandoned, answer
from mesocosm.cli.results import command_store, find_evaluation


@click.command(cls=MesocosmCommand)
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Accepted for scripts; there is no prompt.")
@server_option
def stop(name: str, yes: bool, remote: bool, workspace: str | None) -> int:
    """Ask what works on a run to stop it; finished samples are kept, and the same command continues it."""
    from mesocosm.cli.eval.document import operation
    from mesocosm.core.failure import UsageError

    del yes
    there = found_on_server(name, workspace, remote=remote, local=lambda: find_evaluation(command_store(), name))
    if there is not None:
        return there.stop()
    store = command_store()
    run = find_evaluation(store, name)
    shown = run.name or run.id
    if run.status not in GOING:
        raise UsageError(f"run {shown} is {run.status}; only a pending or running one can be stopped")
    if abandoned(run):
        message = f"no process works on run {shown} any more; the command that started it continues it"
    else:
        store.runs.request_stop(run.id)
        message = f"run {shown} will stop within seconds"
    answer(message, operation("eval.stop", run, "requested", message))
    return 0
