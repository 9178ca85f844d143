"""`mesocosm serve`: run a server."""

import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import CommonOptions, MesocosmCommand, options
from mesocosm.cli.render import emit

if TYPE_CHECKING:
    from mesocosm.server.service import Service
    from mesocosm.server.serving import Addresses


def _port_or_none(_context: click.Context, _parameter: click.Parameter, word: str | None) -> int | str | None:
    if word is None or word.lower() == "none":
        return word and word.lower()
    if not (word.isascii() and word.isdigit() and int(word) <= 65_535):
        raise click.BadParameter(f"{word!r} is not a port from 0 to 65535, nor none")
    return int(word)


@click.command(cls=MesocosmCommand)
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Settings file (TOML).")
@click.option("--host", help="Address to listen on [127.0.0.1].")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port of the API and the web app [8010].")
@click.option(
    "--login-port", callback=_port_or_none, metavar="PORT|none", help="Second port, for member logins [8000]."
)
@click.option("--public-url", metavar="URL", help="Public address, if there is a TLS proxy in front.")
@click.option("--prefix", metavar="PATH", help="Additional path to answer under, such as /bench.")
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="[./mesocosm-data]")
@click.option("--workers", type=click.IntRange(0, 64), help="Worker processes to start [1].")
@click.option("--sandbox", type=click.Choice(["auto", "bubblewrap", "docker", "plain"]), help="[auto]")
@click.option("--unsafe-sandbox", is_flag=True, default=None, help="Allow `plain`: submissions run unconfined.")
@click.option("--log-format", type=click.Choice(["text", "json"]), help="[text]")
def serve(config: Path | None, **given: Any) -> int:
    """Run a server: accounts, teams, environments, runs, leaderboards, and the web app for all of it.

    Data is stored in the data directory, or in the database given by --database-url. All other settings are keys of the
    file given by --config, or variables MESOCOSM_…; docs/operate.md lists them. Ctrl-C stops the server; its runs
    continue at the next start.
    """
    from mesocosm.server.service import opened
    from mesocosm.server.serving import exposed, listening_at, worker_variables
    from mesocosm.server.serving import serve as run_server
    from mesocosm.server.settings import read_settings
    from mesocosm.server.web.logs import logging_as

    chosen = options()
    given |= {"database_url": chosen.database_url, "blob_url": chosen.blob_url}
    settings = read_settings(config, **given)
    # Bind the ports first: if one is taken, nothing is created.
    with logging_as(settings.log_format), listening_at(settings) as listening, opened(settings) as service:
        if exposed(settings):
            click.echo(
                f"warning: listening on {settings.host} without TLS: passwords and tokens can be read on the way. "
                "Put a proxy with TLS before it, and set its address with --public-url",
                err=True,
            )
        first = _first_admin(service)
        run_server(
            service,
            listening,
            words=("--config", str(config)) if config is not None else (),
            variables=worker_variables(given),
            ready=lambda addresses: _ready(addresses, service, chosen, first, config),
        )
    return 0


def _first_admin(service: "Service") -> tuple[str, str] | None:
    """Return name and password of the new administrator, or None if there already is one."""
    from mesocosm.server.permissions.administration import first_admin

    return None if service.settings.auth_disabled else first_admin(service)


def _ready(
    addresses: "Addresses",
    service: "Service",
    chosen: CommonOptions,
    first: tuple[str, str] | None,
    config: Path | None,
) -> None:
    """Print the address once the server answers."""
    made = {"username": first[0], "password": first[1]} if first else None
    if chosen.json:
        known = {"url": addresses.api, "login_url": addresses.login, "pid": os.getpid(), "store": service.store.place}
        emit({**known, "workers": service.settings.workers, "first_admin": made})
        return
    click.echo(f"mesocosm serves {service.store.place}\n  {addresses.api}")
    if addresses.login:
        click.echo(f"  {addresses.login}  (member logins)")
    if made:
        who = (
            "First administrator" if service.store.users.count() == 1 else "There was no administrator, so one was made"
        )
        click.echo(f"{who}, shown this once: {made['username']}  password: {made['password']}")
        click.echo(f"Next: mesocosm auth login --base-url {addresses.api}")
        click.echo(
            f"      mesocosm admin user add NAME{_place(service, chosen, config)}     # for each of the others, here"
        )
    if not service.settings.models:
        click.echo("Only built-in models are offered: add others as [[models]] to the file of --config.")
    click.echo("Ctrl-C stops it.")


def _place(service: "Service", chosen: CommonOptions, config: Path | None) -> str:
    """Return the options that name this server to `mesocosm admin`, in any folder."""
    named = f" --config {quote(str(config.absolute()))}" if config is not None else ""
    if not service.settings.database_url:
        return f"{named} --data-dir {quote(str(service.settings.data_dir.absolute()))}"
    # An address may have a password, which belongs into no terminal.
    return f"{named} --database-url URL" if chosen.database_url else named
