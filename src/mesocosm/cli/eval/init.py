"""`mesocosm eval init`: a new rollout."""

import shlex
from pathlib import Path

import click

from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.render import emit


@click.command(cls=MesocosmCommand)
@click.argument("name")
@click.option("--dir", "directory", default=".", show_default=True, metavar="DIR", help="The workspace.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def init(name: str, directory: str, force: bool) -> None:
    """Create the rollout NAME, with dataset, configuration and a workflow for CI. It passes unchanged.

    If DIR is not in a workspace yet, it becomes one.
    """
    from mesocosm.rollouts.scaffold import scaffold

    done = scaffold(name, Path(directory), force=force)
    root = done.workspace.root
    config = done.config.relative_to(root)
    run = f"mesocosm eval run-local {config}"
    if options().json:
        made = [str(path) for path in done.written]
        emit({"workspace": str(root), "rollout": name, "config": str(config), "files": made, "next": [run]})
        return
    for path in done.written:
        click.echo(f"wrote {root / path}")
    enter = "" if root == Path.cwd() else f"cd {shlex.quote(str(root))} && "
    floor, real = (f"{run} --model {model}" for model in ("builtin/empty", "openai/gpt-5-mini"))
    click.echo(f"\nNext, with a model that knows the answers:\n  {enter}{run}")
    click.echo(f"With a model that says nothing, and with a real one (its key in OPENAI_API_KEY):\n  {floor}\n  {real}")
    click.echo(f"Then edit rollouts/{name}/main.py and data/{name}.jsonl.")
