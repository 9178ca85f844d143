"""`mesocosm admin backup`, `restore`, `rotate-keys` and `cleanup`."""

from pathlib import Path
from shlex import quote

import click
import msgspec

from mesocosm.cli.admin.user import ACTOR, opened_service, server_options
from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.render import answer, emit

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(cls=MesocosmCommand)
@click.argument("folder", type=_FOLDER)
@click.option("--objects", is_flag=True, help="Include the content of the object store of --blob-url.")
@click.option(
    "--environments", is_flag=True, help="Include built environments; otherwise they are rebuilt when needed."
)
@server_options
def backup(folder: Path, *, objects: bool, environments: bool, config: Path | None, data_dir: Path | None) -> None:
    """Back up a server into a new FOLDER while it is running.

    The folder contains secrets (token signing keys, password hashes) and is readable only by you.
    """
    from mesocosm.server.backup import back_up

    with opened_service(config, data_dir) as service:
        taken = back_up(service, folder, objects=objects, environments=environments)
    answer(
        f"backed up to {folder}; bring it back with: mesocosm admin restore {quote(str(folder))} --data-dir NEW",
        {"folder": str(folder), "database": taken.database, "taken_at": taken.taken_at, "objects": taken.objects},
    )


@click.command(cls=MesocosmCommand)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
@server_options
def restore(folder: Path, *, config: Path | None, data_dir: Path | None) -> None:
    """Restore a backup from FOLDER into a new data directory or an empty PostgreSQL database."""
    from mesocosm.server.backup import restore as bring_back
    from mesocosm.server.settings import read_settings

    chosen = options()
    settings = read_settings(config, data_dir=data_dir, database_url=chosen.database_url, blob_url=chosen.blob_url)
    taken = bring_back(settings, folder)
    if chosen.json:
        emit({"data_dir": str(settings.data_dir), "taken_at": taken.taken_at, "version": taken.version})
        return
    where = "" if settings.database_url else f" --data-dir {quote(str(settings.data_dir))}"
    click.echo(f"restored what was backed up at {taken.taken_at}; serve it with: mesocosm serve{where}")


@click.command("rotate-keys", cls=MesocosmCommand)
@click.option(
    "--at-once", is_flag=True, help="End all earlier access tokens and guest sessions instead of letting them expire."
)
@server_options
def rotate_keys(*, at_once: bool, config: Path | None, data_dir: Path | None) -> None:
    """Sign tokens with a new key from now on, whether the server is running or not.

    Existing logins stay valid: they are renewed with the new key.
    """
    from mesocosm.server.permissions.administration import system_administration

    with opened_service(config, data_dir) as service:
        key = system_administration(service, ACTOR).rotate_keys(at_once=at_once).key_id
    if options().json:
        emit({"key_id": key, "at_once": at_once})
        return
    before = "tokens of before have ended" if at_once else "tokens of before stay valid until they expire"
    click.echo(f"key {key} signs from now on; {before}")


@click.command(cls=MesocosmCommand)
@server_options
def cleanup(*, config: Path | None, data_dir: Path | None) -> None:
    """Remove expired data: runs of guests, sign-ins, files of deleted environments, unreferenced content.

    Workers do this every hour.
    """
    from mesocosm.server.workers.cleanup import clean

    with opened_service(config, data_dir) as service:
        done = clean(service)
    answer(f"cleaned up: {done}", msgspec.structs.asdict(done))
