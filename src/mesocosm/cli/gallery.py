"""`mesocosm gallery`: public runs."""

import click

from mesocosm.cli.command import options
from mesocosm.cli.remote.connection import Remote, any_client
from mesocosm.cli.render import emit, interval, number, table, when


@click.command(cls=Remote)
@click.option("--domain", "domain_id", metavar="ID", help="Runs of this domain only.")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="Maximum number of runs.")
def gallery(domain_id: str | None, limit: int) -> None:
    """List public runs."""
    client = any_client()
    found = client.gallery.runs(domain_id, limit)
    if options().json:
        emit(found)
        return
    if not found:
        click.echo(f"there are no public runs at {client.base_url} yet", err=True)
        return
    rows = [
        [
            one.run_id,
            one.domain_name or one.domain_id,
            one.model,
            number(one.primary_score),
            interval(one.primary.low, one.primary.high, weak=one.primary.weak) if one.primary else "",
            f"{one.num_episodes:,}",
            one.actor_label,
            one.check or "–",
            when(one.created_at.timestamp()),
        ]
        for one in found
    ]
    columns = ["run", "domain", "model", "score", "95 % interval", "episodes", "by", "check", "started"]
    table(columns, rows, options(), right=(3, 5), whole=(0, 3, 4, 5, 6, 7, 8), spare=(8, 6, 4))
