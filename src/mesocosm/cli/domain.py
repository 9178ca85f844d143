"""`mesocosm domain …`: what runs can be started on."""

from typing import TYPE_CHECKING

import click

from mesocosm.cli.main import options
from mesocosm.cli.platform.connection import RemoteGroup, anyone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mesocosm.client.documents.leaderboard import LeaderboardEntry


@click.group(cls=RemoteGroup, invoke_without_command=True)
@click.pass_context
def domain(context: click.Context) -> None:
    """See what runs can be started on, and what agents reached there."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@domain.command("list")
@click.option("--published/--drafts", "published", default=None, help="Only these  [both].")
@click.option("--archived", is_flag=True, help="Archived ones too.")
def list_(published: bool | None, archived: bool) -> None:
    """List domains: id, version of the binding vow, status, name."""
    from mesocosm.cli.platform.output import show

    client = anyone()
    found = client.domains.list(published=published, archived=archived or None)
    if options().json:
        show(found)
        return
    if not found:
        click.echo(f"no domains match at {client.base_url}; `mesocosm env submit` makes one", err=True)
    for one in found:
        click.echo(f"{one.id}  {one.binding_vow.version}  {one.status.value}  {one.name}")


@domain.command()
@click.argument("domain_id")
def show(domain_id: str) -> None:
    """Print a domain as JSON: its binding vow, how it is scored, its history."""
    from mesocosm.cli.platform import output

    output.show(anyone().domains.get(domain_id))


@domain.command(short_help="Show the leaderboard of a domain, with intervals and shared places.")
@click.argument("domain_id")
@click.option("--limit", type=click.IntRange(1, 100), default=50, show_default=True, help="Entries.")
def leaderboard(domain_id: str, limit: int) -> None:
    """Show the leaderboard of a domain; entries that differ by no more than chance share their places."""
    from mesocosm.cli.platform.output import show

    found = anyone().leaderboards.get(domain_id, limit)
    if options().json:
        show(found)
        return
    if not found:
        click.echo("nobody is on this leaderboard yet: it takes completed runs that are gallery_public", err=True)
        return
    _print(found)


def _print(found: "Sequence[LeaderboardEntry]") -> None:
    from mesocosm.cli.render import causes, interval, number, table

    rows = []
    for one in found:
        primary = one.primary
        rows.append(
            [
                _place(one),
                one.model,
                one.binding_vow_version,
                number(one.primary_score),
                interval(primary.low, primary.high) if primary is not None else "",
                f"{one.n_scored:,}/{one.n_planned:,}{causes(one.missing)}",
                _runs(one),
                one.check or "–",
                one.run_id,
            ]
        )
    columns = ["place", "model", "vow", "score", "95 % interval", "n", "runs", "check", "newest run"]
    table(columns, rows, options(), right=(3, 5, 6), whole=(0, 3, 4, 5, 7, 8), spare=(8, 6))


def _runs(one: "LeaderboardEntry") -> str:
    picked = one.published < one.candidates
    return f"{one.runs:,} ({one.published:,} of {one.candidates:,} published)" if picked else f"{one.runs:,}"


def _place(one: "LeaderboardEntry") -> str:
    if one.rank is None:
        return one.reference or "–"
    return f"{one.rank}" if one.rank_last in {None, one.rank} else f"{one.rank}–{one.rank_last}"
