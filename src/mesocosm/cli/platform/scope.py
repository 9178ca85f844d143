"""Options by which a command says for which team it works."""

from typing import Any

import click


def team_options(command: Any) -> Any:
    """Add --team and --solo."""
    command = click.option("--solo", is_flag=True, help="For yourself, whatever the active team is.")(command)
    return click.option("--team", metavar="TEAM_ID", help="For this team  [the active one: mesocosm team use].")(
        command
    )
