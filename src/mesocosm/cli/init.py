"""`mesocosm init`: a new environment."""

import shlex
from pathlib import Path

import click

from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.render import emit


@click.command(cls=MesocosmCommand)
@click.option("--dir", "directory", default=".", show_default=True, metavar="DIR", help="Where to write it.")
@click.option("--name", default="", help="Name of the environment  [after DIR, else my-env].")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def init(directory: str, name: str, force: bool) -> None:
    """Create an environment: manifest, adapter, env, test, showcase page. It passes unchanged."""
    from mesocosm.environments.scaffold import scaffold

    done = scaffold(Path(directory), name=name or _name_of(directory), force=force)
    if options().json:
        emit({"files": [{"path": str(item.path), "written": item.written} for item in done]})
        return
    for item in done:
        click.echo(f"wrote {item.path}" if item.written else f"skip (exists): {item.path}")
    enter = "" if directory == "." else f"cd {shlex.quote(directory)} && "
    click.echo("\nNext:")
    click.echo(f"  {enter}mesocosm run local --model builtin/random --episodes 20 --parallel 4")
    click.echo("  mesocosm run local --model builtin/oracle          the ceiling")
    click.echo("  mesocosm run local                                 with ollama/llama3.2 on a running Ollama")
    click.echo("  mesocosm view                                      what happened, in the browser")
    click.echo("Then edit env.py; LOCAL_DEV.md explains the rest.")


def _name_of(directory: str) -> str:
    """Return the last part of a directory; empty if it is the current one or not a valid name."""
    name = Path(directory).name
    return name if name[:1].isalpha() and name.isascii() else ""
