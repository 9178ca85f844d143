"""The command group `mesocosm admin`."""

import click

from mesocosm.cli.command import MesocosmGroup

_HERE = "mesocosm.cli.admin"
TREE = {
    "user": (f"{_HERE}.user:user", "Manage accounts: add, list, disable, enable, reset, role."),
    "backup": (f"{_HERE}.maintenance:backup", "Back up a server into a folder while it is running."),
    "restore": (f"{_HERE}.maintenance:restore", "Restore a backup."),
    "rotate-keys": (f"{_HERE}.maintenance:rotate_keys", "Sign tokens with a new key from now on."),
    "secrets": (f"{_HERE}.maintenance:secrets", "Encrypt the secrets of workspaces with a new key."),
    "cleanup": (f"{_HERE}.maintenance:cleanup", "Remove expired runs of guests, sign-ins and old files."),
}


@click.group(cls=MesocosmGroup, tree=TREE)
def admin() -> None:
    """Administer a server. These commands work directly on its store, whether it is running or not."""
