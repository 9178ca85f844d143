"""`mesocosm domain …`: the domains that runs can use."""

from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import FiniteFloat, options
from mesocosm.cli.remote.connection import RemoteGroup, any_client, member_client
from mesocosm.cli.render import causes, emit, interval, number, table
from mesocosm.core.model import MAX_TOKENS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mesocosm.server.schemas.leaderboard import LeaderboardEntry
    from mesocosm.server.schemas.protocol import OfficialBoard, OfficialProtocol


@click.group(cls=RemoteGroup)
def domain() -> None:
    """Show domains and their leaderboards."""


@domain.command("list")
@click.option("--published/--drafts", "published", default=None, help="Only published domains, or only drafts  [both].")
@click.option("--archived", is_flag=True, help="Include archived domains.")
def list_(published: bool | None, archived: bool) -> None:
    """List domains: id, version of the binding vow, status, name."""
    client = any_client()
    found = client.domains.list(published=published, archived=archived or None)
    if options().json:
        emit(found)
        return
    if not found:
        click.echo(f"no domains match at {client.base_url}; `mesocosm env submit` makes one", err=True)
        return
    rows = [[one.id, one.binding_vow.version, one.status.value, one.name] for one in found]
    table(["id", "vow", "status", "name"], rows, options(), whole=(0, 1, 2))


@domain.command()
@click.argument("domain_id")
def show(domain_id: str) -> None:
    """Print a domain as JSON: binding vow, scoring, history."""
    emit(any_client().domains.get(domain_id))


@domain.command(short_help="Show the leaderboard of a domain, with intervals and shared ranks.")
@click.argument("domain_id")
@click.option("--limit", type=click.IntRange(1, 100), default=50, show_default=True, help="Maximum number of entries.")
@click.option(
    "--official", is_flag=True, help="Official leaderboard: runs by the protocol, with every attempt counted."
)
@click.option("--protocol", type=click.IntRange(min=1), help="Version of the protocol, with --official  [the newest].")
def leaderboard(domain_id: str, limit: int, official: bool, protocol: int | None) -> None:
    """Show the leaderboard of a domain; entries whose difference could be chance share ranks."""
    if protocol is not None and not official:
        raise click.UsageError("--protocol is for the official board; add --official")
    if official:
        board = any_client().leaderboards.official(domain_id, version=protocol, limit=limit)
        if options().json:
            emit(board)
        else:
            _print_official(board)
        return
    found = any_client().leaderboards.get(domain_id, limit)
    if options().json:
        emit(found)
        return
    if not found:
        click.echo("this leaderboard is empty: it lists completed runs that are gallery_public", err=True)
        return
    _print(found)


@domain.command(short_help="Show the protocols of a domain's official runs.")
@click.argument("domain_id")
def protocol(domain_id: str) -> None:
    """Show the protocols of a domain's official runs, newest first."""
    found = any_client().domains.protocols(domain_id)
    if options().json:
        emit(found)
        return
    if not found:
        click.echo(
            "this domain has no official board; its owner can declare one with: mesocosm domain declare", err=True
        )
    for one in found:
        click.echo(_terms(one))


@domain.command(short_help="Declare the protocol of official runs of your domain.")
@click.argument("domain_id")
@click.option("--episodes", type=click.IntRange(min=1), default=20, show_default=True, help="Seeds of a run.")
@click.option("--trials", type=click.IntRange(min=1), default=1, show_default=True, help="Repetitions of every seed.")
@click.option("--max-steps", type=click.IntRange(min=1), help="Maximum steps per episode  [the server's limit].")
@click.option("--temperature", type=FiniteFloat(min=0), default=0.0, show_default=True, help="Sampling temperature.")
@click.option(
    "--max-tokens", type=click.IntRange(min=1), default=MAX_TOKENS, show_default=True, help="Tokens per reply."
)
@click.option(
    "--on-malformed",
    type=click.Choice(["auto", "pass", "ask", "fail"]),
    default="auto",
    show_default=True,
    help="Handling of a reply without a valid action.",
)
def declare(domain_id: str, **terms: Any) -> None:
    """Declare the protocol of a domain's official runs from now on, with the environment version that runs use now.

    Changed terms create a new version with an empty official leaderboard; earlier ones remain. Prints it as JSON.
    """
    emit(
        member_client().domains.declare(domain_id, {name: value for name, value in terms.items() if value is not None})
    )


def _terms(one: "OfficialProtocol") -> str:
    steps = f", {one.max_steps:,} steps" if one.max_steps is not None else ""
    trials = f" x {one.trials} trials" if one.trials > 1 else ""
    where = f", environment version {one.environment_version}" if one.environment_version is not None else ""
    return (
        f"protocol {one.version}  {one.episodes:,} seeds{trials}{steps}, {one.max_tokens:,} tokens per reply, "
        f"temperature {one.temperature:g}, malformed replies: {one.on_malformed}, vow {one.vow_version}{where}, "
        f"since {one.created_at:%Y-%m-%d}"
    )


def _print_official(board: "OfficialBoard") -> None:
    if board.protocol is None:
        click.echo(
            "this domain has no official board; its owner can declare one with: mesocosm domain declare", err=True
        )
        return
    click.echo(_terms(board.protocol), err=True)
    rows = [
        [
            _place(one),
            one.model,
            number(one.primary_score),
            interval(one.primary.low, one.primary.high, weak=one.primary.weak) if one.primary is not None else "",
            f"{one.n_scored:,}/{one.n_planned:,}",
            f"{one.attempts.finished:,} of {one.attempts.total:,}",
            one.run_id,
            one.unranked,
        ]
        for one in board.entries
    ]
    rows += [
        ["–", one.model, "", "", "", f"{one.attempts.finished:,} of {one.attempts.total:,}", "", "none is finished"]
        for one in board.others
    ]
    if not rows:
        click.echo("this board is empty: start a run with `mesocosm run create --official`", err=True)
        return
    columns = ["rank", "model", "score", "95 % interval", "n", "attempts", "newest run", "why not ranked"]
    table(columns, rows, options(), right=(2, 4), whole=(0, 2, 3, 4, 5, 6), spare=(6,))


def _print(found: "Sequence[LeaderboardEntry]") -> None:
    rows = []
    for one in found:
        primary = one.primary
        rows.append(
            [
                _place(one),
                one.model,
                one.binding_vow_version,
                number(one.primary_score),
                interval(primary.low, primary.high, weak=primary.weak) if primary is not None else "",
                f"{one.n_scored:,}/{one.n_planned:,}{causes(one.missing)}",
                _runs(one),
                "–" if one.environment_version is None else str(one.environment_version),
                one.check or "–",
                one.run_id,
                one.unranked,
            ]
        )
    columns = ["rank", "model", "vow", "score", "95 % interval", "n", "runs", "env", "check", "newest run"]
    if any(one.unranked for one in found):
        columns.append("why not ranked")
    rows = [row[: len(columns)] for row in rows]
    table(columns, rows, options(), right=(3, 5, 6, 7), whole=(0, 3, 4, 5, 7, 8, 9), spare=(9, 6))
    if any(one.uncompared for one in found):
        click.echo(UNCOMPARED, err=True)


UNCOMPARED = (
    "note: entries of other versions of the environment (env), or that were scored by other rules, cannot be compared; "
    "they share places"
)


def _runs(one: "LeaderboardEntry") -> str:
    picked = one.published < one.candidates
    return f"{one.runs:,} ({one.published:,} of {one.candidates:,} published)" if picked else f"{one.runs:,}"


def _place(one: "LeaderboardEntry") -> str:
    if one.rank is None:
        return one.reference or "–"
    return f"{one.rank}" if one.rank_last in {None, one.rank} else f"{one.rank}–{one.rank_last}"
