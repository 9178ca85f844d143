"""`mesocosm admin user`: user accounts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mesocosm.cli.command import MesocosmCommand, MesocosmGroup, options
from mesocosm.cli.render import emit, table, when

if TYPE_CHECKING:
    from mesocosm.server.permissions.administration import Administration
    from mesocosm.server.schemas.account import UserRow
    from mesocosm.server.service import Service

ACTOR = "system:admin"
"""The actor in the audit log for changes made here."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def server_options(command: _Function) -> _Function:
    """Add the options for the directory and the database of a server."""
    config = click.Path(path_type=Path, dir_okay=False)
    command = click.option("--config", type=config, metavar="FILE", help="Settings file (TOML).")(command)
    place = click.Path(path_type=Path, file_okay=False)
    named = click.option("--data-dir", type=place, metavar="DIR", help="What `serve` was given [./mesocosm-data].")
    return named(command)


@contextmanager
def opened_service(config: Path | None, data_dir: Path | None) -> Iterator["Service"]:
    """Open a server's store. Raises UsageError if there is none."""
    from mesocosm.core.failure import UsageError
    from mesocosm.server.service import opened
    from mesocosm.server.settings import read_settings
    from mesocosm.store.revision import DATABASE_NAME

    chosen = options()
    settings = read_settings(config, data_dir=data_dir, database_url=chosen.database_url, blob_url=chosen.blob_url)
    if not (settings.database_url or (settings.data_dir / DATABASE_NAME).exists()):
        raise UsageError(
            f"there is no server in {settings.data_dir.absolute()}; name its directory with --data-dir, its "
            "settings with --config, or its database with --database-url; `mesocosm serve` makes a new one"
        )
    with opened(settings) as service:
        yield service


@contextmanager
def _people(config: Path | None, data_dir: Path | None) -> Iterator["Administration"]:
    from mesocosm.server.permissions.administration import system_administration

    with opened_service(config, data_dir) as service:
        yield system_administration(service, ACTOR)


@click.group(cls=MesocosmGroup)
def user() -> None:
    """Manage accounts. NAME is a user name or a user ID."""


@user.command(cls=MesocosmCommand)
@click.argument("name")
@click.option("--admin", is_flag=True, help="Make them an administrator.")
@click.option("--ask", is_flag=True, help="Ask for the password instead of generating one.")
@server_options
def add(name: str, *, admin: bool, ask: bool, config: Path | None, data_dir: Path | None) -> None:
    """Add a user. The password is generated and shown once."""
    password = _asked() if ask else None
    with _people(config, data_dir) as people:
        added = people.add(name, password, "admin" if admin else "member")
    _tell(added, f"added {added.username} ({added.role})", added.password)


@user.command("list", cls=MesocosmCommand)
@server_options
def list_(*, config: Path | None, data_dir: Path | None) -> None:
    """List all users, newest first."""
    with _people(config, data_dir) as people:
        found = people.users(1_000_000).users
    if options().json:
        emit([_document(each) for each in found])
        return
    rows = [[str(each.id), each.username, each.role, _state(each), *map(when, _times(each))] for each in found]
    table(["id", "name", "role", "state", "since", "last login"], rows, options(), right=(0,))


@user.command(cls=MesocosmCommand)
@click.argument("name")
@server_options
def disable(name: str, *, config: Path | None, data_dir: Path | None) -> None:
    """Block a user: all their tokens and sign-ins end."""
    with _people(config, data_dir) as people:
        changed = people.disable(people.find(name).id)
    _tell(changed, f"disabled {changed.username}")


@user.command(cls=MesocosmCommand)
@click.argument("name")
@server_options
def enable(name: str, *, config: Path | None, data_dir: Path | None) -> None:
    """Unblock a user."""
    with _people(config, data_dir) as people:
        changed = people.enable(people.find(name).id)
    _tell(changed, f"enabled {changed.username}")


@user.command(cls=MesocosmCommand)
@click.argument("name")
@click.option("--ask", is_flag=True, help="Ask for the password instead of generating one.")
@server_options
def reset(name: str, *, ask: bool, config: Path | None, data_dir: Path | None) -> None:
    """Set a new password for a user, shown once; all their tokens and sign-ins end."""
    password = _asked() if ask else None
    with _people(config, data_dir) as people:
        changed = people.reset_password(people.find(name).id, password)
    _tell(changed, f"reset {changed.username}", changed.password)


@user.command(cls=MesocosmCommand)
@click.argument("name")
@click.argument("role", type=click.Choice(["member", "admin"]))
@server_options
def role(name: str, role: str, *, config: Path | None, data_dir: Path | None) -> None:
    """Make a user a member or an administrator."""
    with _people(config, data_dir) as people:
        changed = people.set_role(people.find(name).id, role)
    _tell(changed, f"{changed.username} is now {changed.role}")


def _asked() -> str:
    return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))


def _tell(user: "UserRow", line: str, password: str | None = None) -> None:
    if options().json:
        emit({**_document(user), **({"password": password} if password else {})})
        return
    click.echo(line)
    if password:
        click.echo(f"password, shown this once: {password}")


def _document(user: "UserRow") -> dict[str, object]:
    names = ("id", "username", "role", "disabled", "budget_usd")
    created_at, last_login_at = _times(user)
    return {name: getattr(user, name) for name in names} | {"created_at": created_at, "last_login_at": last_login_at}


def _times(user: "UserRow") -> tuple[float, float | None]:
    return user.created_at.timestamp(), None if user.last_login_at is None else user.last_login_at.timestamp()


def _state(user: "UserRow") -> str:
    return "disabled" if user.disabled else "single sign-on" if user.oidc else "active"
