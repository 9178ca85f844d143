"""`mesocosm admin rotate-keys`."""

from pathlib import Path

import click

from mesocosm.cli.admin.user import ACTOR, opened_platform, platform_options
from mesocosm.cli.command import MesocosmCommand, options


@click.command("rotate-keys", cls=MesocosmCommand)
@click.option(
    "--at-once", is_flag=True, help="End every access token and guest of before, instead of letting them expire."
)
@platform_options
def rotate_keys(*, at_once: bool, config: Path | None, data_dir: Path | None) -> None:
    """Sign tokens with a new key from now on, whether the platform is being served or not.

    Who is logged in stays so: sign-ins are renewed under the new key.
    """
    from mesocosm.cli.render import emit
    from mesocosm.server.permissions.administration import system_administration

    with opened_platform(config, data_dir) as service:
        key = system_administration(service, ACTOR).rotate_keys(at_once=at_once).key_id
    if options().json:
        emit({"key_id": key, "at_once": at_once})
        return
    before = "tokens of before have ended" if at_once else "tokens of before stay valid until they expire"
    click.echo(f"key {key} signs from now on; {before}")
