"""`mesocosm eval init`: a new rollout."""

import shlex
from pathlib import Path

import click

from mesocosm.cli.main import Command, options


@click.command(cls=Command)
@click.argument("name")
@click.option("--dir", "directory", default=".", show_default=True, metavar="DIR", help="The workspace.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def init(name: str, directory: str, force: bool) -> None:
    """Scaffold the rollout NAME, with dataset, configuration and a workflow for CI. It runs green untouched.

    Where DIR lies in no workspace yet, it becomes one.
    """
    from mesocosm.cli.render import emit
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
    click.echo("\nNext:")
    click.echo(f"  {enter}{run}")
    click.echo(f"  {run} --set experiment.model_path=builtin/empty          the floor")
    click.echo(f"  {run} --set experiment.model_path=openai/gpt-5-mini      a model; its key in OPENAI_API_KEY")
    click.echo(f"Then edit rollouts/{name}/main.py and data/{name}.jsonl.")
