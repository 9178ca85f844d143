"""`mesocosm admin backup`, `restore`, `rotate-keys`, `secrets` and `cleanup`."""

from pathlib import Path
from shlex import quote

import click
import msgspec

from mesocosm.cli.admin.user import ACTOR, opened_service, server_options
from mesocosm.cli.command import MesocosmCommand, MesocosmGroup, options, plural
from mesocosm.cli.render import answer, emit
from mesocosm.core.failure import InfrastructureError

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

    The folder contains token signing keys and password hashes, and is readable only by you. It does not contain the
    key that the secrets of workspaces are encrypted with: keep that one elsewhere.
    """
    from mesocosm.server.backup import back_up

    with opened_service(config, data_dir) as service:
        taken = back_up(service, folder, objects=objects, environments=environments)
    back = f"backed up to {folder}; bring it back with: mesocosm admin restore {quote(str(folder))} --data-dir NEW"
    key = f"; the key of the secrets is not in it: keep a copy of {taken.secrets_key} elsewhere"
    document = {"folder": str(folder), "database": taken.database, "taken_at": taken.taken_at, "objects": taken.objects}
    answer(back + (key if taken.secrets_key else ""), document | {"secrets_key": taken.secrets_key})


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
    if taken.secrets_key:
        click.echo(
            f"the key of its secrets is not part of a backup; bring it back as well: {taken.secrets_key}", err=True
        )


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


@click.group(cls=MesocosmGroup)
def secrets() -> None:
    """Look after the key that the secrets of workspaces are encrypted with."""


@secrets.command("rotate", cls=MesocosmCommand)
@server_options
def rotate_secrets(*, config: Path | None, data_dir: Path | None) -> None:
    """Encrypt all secrets of workspaces with a new key, whether the server is running or not.

    The new key is made where secrets.key of the data directory is used. With MESOCOSM_SECRETS_KEY or
    MESOCOSM_SECRETS_KEY_FILE, put one in front of the others on every host first. If this is interrupted, run it again.
    """
    from mesocosm.server.workspace_secrets import rotate

    with opened_service(config, data_dir) as service:
        done = rotate(service, ACTOR)
    count = plural(done.encrypted, "secret")
    if options().json:
        unreadable = [
            {"workspace_id": one.workspace_id, "holder": one.holder, "name": one.name} for one in done.unreadable
        ]
        emit({"key": done.key, "new": done.made, "encrypted": done.encrypted, "unreadable": unreadable})
    elif done.made:
        click.echo(f"the new key {done.key} encrypts from now on; encrypted {count} with it")
        click.echo("older keys are kept after it in secrets.key, for backups that were made before")
    else:
        click.echo(f"encrypted {count} with the first of the given keys, {done.key}")
        if not done.encrypted:
            click.echo("for a new key, put one in front of the others on every host, and run this again")
    if done.unreadable:
        listed = ", ".join(f"{one.name} of {one.holder} in {one.workspace_id}" for one in done.unreadable[:20])
        raise InfrastructureError(
            f"{len(done.unreadable)} could not be decrypted and stay as they are: {listed}; add their key and run this "
            "again, or have them set again"
        )


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
