"""`mesocosm auth token …`: the saved token, and personal ones for programs."""

import click

from mesocosm.cli.command import options
from mesocosm.cli.remote.connection import NotLoggedIn, RemoteGroup, any_client, member_client
from mesocosm.cli.render import answer, emit, table


@click.group(cls=RemoteGroup, helps=False)
@click.pass_context
def token(context: click.Context) -> None:
    """Print the member's token, for curl and scripts; it expires within the hour.

    The commands below manage long-lived tokens, which programs can use as SWECC_BENCH_TOKEN.
    """
    if context.invoked_subcommand is not None:
        return
    caller = any_client().caller
    caller.header()  # renews a token that is about to expire
    if caller.mode != "member" or not caller.token:
        raise NotLoggedIn("No member session. Run: mesocosm auth login")
    answer(caller.token, {"token": caller.token})


@token.command()
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice(["read", "write"]),
    default="write",
    show_default=True,
    help="A read token cannot change anything.",
)
@click.option(
    "--days", type=click.IntRange(0, 3650), default=90, show_default=True, help="Days until it expires; 0: never."
)
def create(name: str, scope: str, days: int) -> None:
    """Create a personal token and print it once."""
    made = member_client().tokens.create(name, scope="read" if scope == "read" else "write", days=days or None)
    if options().json:
        emit(made)
        return
    click.echo(made.token)
    until = f"until {made.expires_at:%Y-%m-%d}" if made.expires_at else "until it is revoked"
    click.echo(f"token {made.id} ({made.scope}) lasts {until}; it is not shown again", err=True)


@token.command("list")
def list_() -> None:
    """List your personal tokens."""
    found = member_client().tokens.list()
    if options().json:
        emit(found)
        return
    if not found:
        click.echo("no personal tokens; `mesocosm auth token create NAME` makes one")
        return
    rows = [
        [
            one.id,
            one.name,
            one.scope,
            f"{one.expires_at:%Y-%m-%d}" if one.expires_at else "never",
            f"{one.last_used_at:%Y-%m-%d}" if one.last_used_at else "never",
        ]
        for one in found
    ]
    table(["id", "name", "scope", "ends", "last used"], rows, options(), whole=(0,))


@token.command()
@click.argument("token_id")
def revoke(token_id: str) -> None:
    """Revoke a personal token immediately."""
    member_client().tokens.revoke(token_id)
    answer(f"Token {token_id} revoked.", {"revoked": token_id})
