"""`mesocosm admin user`: people with an account."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mesocosm.cli.main import MesocosmCommand, MesocosmGroup, options

if TYPE_CHECKING:
    from mesocosm.server.auth.people import People
    from mesocosm.server.service import Service
    from mesocosm.store.users import User

ACTOR = "system:admin"
"""Who the record of changes names for what is done here."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def platform_options(command: _Function) -> _Function:
    """Add the options that say where a platform keeps its things."""
    config = click.Path(path_type=Path, dir_okay=False)
    command = click.option("--config", type=config, metavar="FILE", help="Settings as TOML.")(command)
    place = click.Path(path_type=Path, file_okay=False)
    named = click.option("--data-dir", type=place, metavar="DIR", help="What `serve` was given [./mesocosm-data].")
    return named(command)


@contextmanager
def opened_platform(config: Path | None, data_dir: Path | None, *, create: bool = False) -> Iterator["Service"]:
    """Open a platform's store. Raises UsageError where there is none, unless it may be made."""
    from mesocosm.core.failure import UsageError
    from mesocosm.server.service import opened
    from mesocosm.server.settings import read_settings
    from mesocosm.store import DATABASE_NAME

    chosen = options()
    settings = read_settings(config, data_dir=data_dir, database_url=chosen.database_url, blob_url=chosen.blob_url)
    if not (create or settings.database_url or (settings.data_dir / DATABASE_NAME).exists()):
        raise UsageError(
            f"there is no platform in {settings.data_dir}; name its directory with --data-dir, or its database with "
            "--database-url"
        )
    with opened(settings) as service:
        yield service


@contextmanager
def _people(config: Path | None, data_dir: Path | None, *, create: bool = False) -> Iterator["People"]:
    from mesocosm.server.auth.people import People

    with opened_platform(config, data_dir, create=create) as service:
        yield People(service.accounts, ACTOR)


@click.group(cls=MesocosmGroup, invoke_without_command=True)
@click.pass_context
def user(context: click.Context) -> None:
    """People with an account. NAME is a user name or a number."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@user.command(cls=MesocosmCommand)
@click.argument("name")
@click.option("--admin", is_flag=True, help="Let them run the platform.")
@click.option("--ask", is_flag=True, help="Ask for the password instead of making one up.")
@platform_options
def add(name: str, *, admin: bool, ask: bool, config: Path | None, data_dir: Path | None) -> None:
    """Add somebody. The password is made up and shown this once."""
    password = _asked() if ask else None
    with _people(config, data_dir, create=True) as people:
        added, made = people.add(name, password, "admin" if admin else "member")
    _tell(added, f"added {added.username} ({added.role})", made)


@user.command("list", cls=MesocosmCommand)
@platform_options
def list_(*, config: Path | None, data_dir: Path | None) -> None:
    """List everybody, newest first."""
    from mesocosm.cli.render import emit, table, when

    with opened_platform(config, data_dir) as service:
        found = service.store.users.list(limit=1_000_000)
    if options().json:
        emit([_document(each) for each in found])
        return
    rows = [
        [str(each.id), each.username, each.role, _state(each), when(each.created_at), when(each.last_login_at)]
        for each in found
    ]
    table(["id", "name", "role", "state", "since", "last login"], rows, options(), right=(0,))


@user.command(cls=MesocosmCommand)
@click.argument("name")
@platform_options
def disable(name: str, *, config: Path | None, data_dir: Path | None) -> None:
    """Keep somebody out: every token and sign-in of theirs ends."""
    with _people(config, data_dir) as people:
        changed = people.disable(people.named(name).id)
    _tell(changed, f"disabled {changed.username}")


@user.command(cls=MesocosmCommand)
@click.argument("name")
@platform_options
def enable(name: str, *, config: Path | None, data_dir: Path | None) -> None:
    """Let somebody in again."""
    with _people(config, data_dir) as people:
        changed = people.enable(people.named(name).id)
    _tell(changed, f"enabled {changed.username}")


@user.command(cls=MesocosmCommand)
@click.argument("name")
@click.option("--ask", is_flag=True, help="Ask for the password instead of making one up.")
@platform_options
def reset(name: str, *, ask: bool, config: Path | None, data_dir: Path | None) -> None:
    """Give somebody another password, shown this once; every token and sign-in of theirs ends."""
    password = _asked() if ask else None
    with _people(config, data_dir) as people:
        changed, made = people.reset(people.named(name).id, password)
    _tell(changed, f"reset {changed.username}", made)


@user.command(cls=MesocosmCommand)
@click.argument("name")
@click.argument("role", type=click.Choice(["member", "admin"]))
@platform_options
def role(name: str, role: str, *, config: Path | None, data_dir: Path | None) -> None:
    """Make somebody a member or an administrator."""
    with _people(config, data_dir) as people:
        changed = people.set_role(people.named(name).id, role)
    _tell(changed, f"{changed.username} is now {changed.role}")


def _asked() -> str:
    return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))


def _tell(somebody: "User", line: str, password: str | None = None) -> None:
    from mesocosm.cli.render import emit

    if options().json:
        emit({**_document(somebody), **({"password": password} if password else {})})
        return
    click.echo(line)
    if password:
        click.echo(f"password, shown this once: {password}")


def _document(somebody: "User") -> dict[str, object]:
    names = ("id", "username", "role", "disabled", "budget_usd", "created_at", "last_login_at")
    return {name: getattr(somebody, name) for name in names}


def _state(somebody: "User") -> str:
    return "disabled" if somebody.disabled else "single sign-on" if somebody.subject else "active"
