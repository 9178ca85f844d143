"""`mesocosm gallery`: runs that everybody may see."""

import click

from mesocosm.cli.main import options
from mesocosm.cli.platform.connection import Remote, anyone


@click.command(cls=Remote)
@click.option("--domain", "domain_id", metavar="ID", help="Runs of this domain only.")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="Runs.")
def gallery(domain_id: str | None, limit: int) -> None:
    """List runs that everybody may see."""
    from mesocosm.cli.platform.output import show
    from mesocosm.cli.render import interval, number, table, when

    client = anyone()
    found = client.gallery.runs(domain_id, limit)
    if options().json:
        show(found)
        return
    if not found:
        click.echo(f"nothing is shown at {client.base_url} yet", err=True)
        return
    rows = [
        [
            one.run_id,
            one.domain_name or one.domain_id,
            one.model,
            f"{number(one.primary_score)} {interval(one.primary.low, one.primary.high) if one.primary else ''}".strip(),
            f"{one.num_episodes:,}",
            one.actor_label,
            when(one.created_at.timestamp()),
        ]
        for one in found
    ]
    table(["run", "domain", "model", "score", "episodes", "by", "started"], rows, options(), right=(4,), whole=(0,))
