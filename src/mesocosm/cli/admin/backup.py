"""`mesocosm admin backup` and `mesocosm admin restore`."""

from pathlib import Path
from shlex import quote

import click

from mesocosm.cli.admin.user import opened_platform, platform_options
from mesocosm.cli.command import MesocosmCommand, options

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(cls=MesocosmCommand)
@click.argument("folder", type=_FOLDER)
@click.option("--objects", is_flag=True, help="Also what is kept in the object store of --blob-url.")
@click.option("--environments", is_flag=True, help="Also what was built; else it is built again when it is needed.")
@platform_options
def backup(folder: Path, *, objects: bool, environments: bool, config: Path | None, data_dir: Path | None) -> None:
    """Copy a platform into a new FOLDER, while it is served.

    The folder holds secrets (the keys that tokens are signed with, digests of passwords): only you may read it.
    """
    from mesocosm.cli.render import emit
    from mesocosm.server.backup import back_up

    with opened_platform(config, data_dir) as service:
        taken = back_up(service, folder, objects=objects, environments=environments)
    if options().json:
        emit({"folder": str(folder), "database": taken.database, "taken_at": taken.taken_at, "objects": taken.objects})
        return
    click.echo(f"backed up to {folder}; bring it back with: mesocosm admin restore {quote(str(folder))} --data-dir NEW")


@click.command(cls=MesocosmCommand)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
@platform_options
def restore(folder: Path, *, config: Path | None, data_dir: Path | None) -> None:
    """Bring a backup in FOLDER back, into a new data directory or an empty PostgreSQL database."""
    from mesocosm.cli.render import emit
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
