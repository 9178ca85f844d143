"""`mesocosm admin cleanup`."""

from pathlib import Path

import click
import msgspec

from mesocosm.cli.admin.user import opened_platform, platform_options
from mesocosm.cli.command import MesocosmCommand, options


@click.command(cls=MesocosmCommand)
@platform_options
def cleanup(*, config: Path | None, data_dir: Path | None) -> None:
    """Remove expired data: runs of guests, sign-ins, files of deleted environments, unreferenced content.

    Workers do this every hour.
    """
    from mesocosm.cli.render import emit
    from mesocosm.server.workers.cleanup import clean

    with opened_platform(config, data_dir) as service:
        done = clean(service)
    if options().json:
        emit(msgspec.structs.asdict(done))
    else:
        click.echo(f"cleaned up: {done}")
