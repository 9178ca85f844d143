"""The group of commands."""

import click

from mesocosm.cli.command import MesocosmGroup

_HERE = "mesocosm.cli.admin"
TREE = {
    "user": (f"{_HERE}.user:user", "People with an account: add, list, disable, enable, reset, role."),
    "backup": (f"{_HERE}.backup:backup", "Copy a platform into a folder, while it is served."),
    "restore": (f"{_HERE}.backup:restore", "Bring a backup back."),
    "rotate-keys": (f"{_HERE}.keys:rotate_keys", "Sign tokens with a new key from now on."),
    "cleanup": (f"{_HERE}.cleanup:cleanup", "Remove expired runs of guests, sign-ins and old files."),
}


@click.group(cls=MesocosmGroup, tree=TREE, invoke_without_command=True)
@click.pass_context
def admin(context: click.Context) -> None:
    """Run a platform: these commands work on its store directly, whether it is being served or not."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
