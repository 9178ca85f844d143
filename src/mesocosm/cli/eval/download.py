"""`mesocosm eval download NAME`."""

from pathlib import Path

import click

from mesocosm.cli.command import MesocosmCommand
from mesocosm.cli.eval.on_server import found_on_server, server_option
from mesocosm.cli.render import answer
from mesocosm.cli.results import command_store, find_evaluation

KINDS = ("metrics", "samples", "trajectories", "artifacts", "logs")
DEFAULT = ("metrics", "trajectories")


@click.command(cls=MesocosmCommand)
@click.argument("name")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Directory to write into [./NAME].")
@click.option(
    "--type",
    "kinds",
    default=",".join(DEFAULT),
    show_default=True,
    help=f"Comma-separated: {', '.join(KINDS)}, or all.",
)
@click.option("--rows", default="", metavar="LIST", help='Rows by index in the dataset: "3,7,10-20".')
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@click.option("-y", "--yes", is_flag=True, help="Accepted for scripts; there is no prompt.")
@server_option
def download(
    name: str,
    output: Path | None,
    kinds: str,
    rows: str,
    overwrite: bool,
    yes: bool,
    remote: bool,
    workspace: str | None,
) -> None:
    """Write a run as files: metrics, samples (JSON lines), trajectories, artifacts, logs."""
    from mesocosm.cli.eval.document import operation
    from mesocosm.cli.eval.logs import places
    from mesocosm.core.failure import UsageError
    from mesocosm.interop.download import write_download

    del yes
    wanted = {kind.strip() for kind in kinds.split(",") if kind.strip()}
    unknown = wanted - {*KINDS, "all"}
    if unknown or not wanted:
        raise UsageError(f"--type {kinds!r}: choose from {', '.join(KINDS)}, or all")
    there = found_on_server(name, workspace, remote=remote, local=lambda: find_evaluation(command_store(), name))
    if there is not None:
        folder = output or Path(there.run.name or there.run.id)
        parts = set(KINDS) if "all" in wanted else wanted
        files = there.download(folder, parts, places(rows), overwrite=overwrite)
        answer(f"{len(files):,} files are in {folder}", {"output_path": str(folder), "files": files})
        return
    store = command_store()
    run = find_evaluation(store, name)
    folder = output or Path(run.name or run.id)
    chosen_rows = places(rows)
    written = write_download(
        run,
        store,
        folder,
        set(KINDS) if "all" in wanted else wanted,
        rows=None if chosen_rows is None else set(map(int, chosen_rows)),
        overwrite=overwrite,
    )
    message = f"wrote {len(written):,} files into {folder}"
    answer(
        message,
        {**operation("eval.download", run, "done", message), "output_path": str(folder), "files": list(written)},
    )
