"""`mesocosm models`: the models that the server offers."""

import click

from mesocosm.cli.command import options
from mesocosm.cli.remote.connection import Remote, any_client
from mesocosm.cli.render import emit, table


@click.command(cls=Remote)
def models() -> None:
    """List the models that the server offers; their keys stay there."""
    client = any_client()
    found = client.models.list()
    if options().json:
        emit({"models": found})
        return
    rows = []
    for one in found:
        notes = [word for word, holds in (("guests", one.guests), ("full bench", one.full_bench)) if holds]
        rows.append(
            [one.name, one.title, ", ".join(notes), "yes" if one.available else f"no: {one.reason}".rstrip(": ")]
        )
    if not rows:
        click.echo(f"{client.base_url} offers no models", err=True)
        return
    table(["model", "title", "for", "available"], rows, options(), whole=(0,))
