"""`mesocosm help`: the help of a command, and the settings of `--set`."""

import click

from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.render import emit, table

TOPIC = "settings"


@click.command("help", cls=MesocosmCommand)
@click.argument("words", nargs=-1, metavar="[COMMAND...]")
@click.pass_context
def help_(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of COMMAND with all its options; `help settings` lists the settings of --set."""
    from mesocosm.cli.command import MORE
    from mesocosm.cli.main import program

    if words == (TOPIC,):
        _settings()
        return
    context.meta[MORE] = bool(words)
    shown = context.find_root()
    for word in words:
        group = shown.command
        command = group.get_command(shown, word) if isinstance(group, click.Group) else None
        if command is None:
            raise click.UsageError(f"No such command {' '.join(words)!r}.", shown)
        shown = click.Context(command, info_name=word, parent=shown)
    click.echo(program.get_help(shown) if shown.command is program else shown.get_help())


def _settings() -> None:
    from mesocosm.cli.main import COMMON_HELP
    from mesocosm.cli.settings import SETTINGS

    if options().json:
        emit(
            {
                "items": [
                    {"key": key, "type": one.kind.__name__, "default": one.default, "meaning": one.meaning}
                    for key, one in SETTINGS.items()
                ],
                "next": None,
            }
        )
        return
    click.echo("Settings of --set KEY=VALUE, for run, bench run, eval ask and compare\n")
    table(["key", "default", "meaning"], [[key, one.default, one.meaning] for key, one in SETTINGS.items()], options())
    click.echo(COMMON_HELP.replace("\b\n", "").rstrip())
    click.echo("\nmesocosm COMMAND --help --all shows every option of a command.")
