"""`mesocosm workspace notify …`: addresses that a server tells how runs of a workspace end."""

import sys
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import confirmed, options
from mesocosm.cli.remote.connection import RemoteGroup, document, member_client, workspace_for, workspace_option
from mesocosm.cli.render import answer, emit, table, when
from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from mesocosm.server.schemas.notification import DeliveryDocument

EVENTS = ("finished", "failed", "stopped", "schedule")
TRIAL_S = 20.0
"""Seconds to wait for the outcome of a test message."""


@click.group(cls=RemoteGroup)
def notify() -> None:
    """Tell other programs how runs of the workspace end: by signed webhooks, or in Slack. For admins and owners."""


@notify.command()
@click.argument("url", required=False)
@click.option("--event", "events", type=click.Choice(EVENTS), multiple=True, help="What to tell; several times  [all].")
@click.option(
    "--format",
    "form",
    type=click.Choice(["mesocosm", "slack"]),
    default="mesocosm",
    show_default=True,
    help="A signed JSON document; or text for Slack, Mattermost and Discord.",
)
@click.option("--name", help="Name of the notification  [the host of the URL].")
@workspace_option
def add(url: str | None, events: tuple[str, ...], form: str, name: str | None, workspace: str | None) -> None:
    """Add an address and print the secret that signs its messages, once.

    Without URL, which may be a credential, it is asked for on a terminal, and read from standard input otherwise.
    Events: finished; failed, also for partial runs; stopped; schedule, when a scheduled run was refused.
    """
    from mesocosm.server.schemas.notification import NotificationInput

    fields: dict[str, Any] = {"url": url or _asked(), "events": events or None, "format": form, "name": name}
    client = member_client()
    made = client.notifications.add(workspace_for(client, workspace), document(NotificationInput, fields))
    one = made.notification
    words = f"Added the notification {one.name} to {one.host}. Try it: mesocosm workspace notify test {one.name}"
    if one.format == "mesocosm":
        words += f"\nSecret, shown once: {made.secret}\nReceivers verify webhook-signature by it (Standard Webhooks)."
    answer(words, {"notification": one, "secret": made.secret})


@notify.command("list")
@workspace_option
def list_(workspace: str | None) -> None:
    """List the notifications of the workspace, and how the newest message of each went."""
    client = member_client()
    found = client.notifications.list(workspace_for(client, workspace))
    if options().json:
        emit(found)
        return
    if not found:
        click.echo("no notifications; add one with: mesocosm workspace notify add URL", err=True)
        return
    rows = [
        [one.name, one.host, one.format, ", ".join(one.events), _went(one.last), _answer(one.last)] for one in found
    ]
    table(["name", "to", "format", "events", "last message", "answer"], rows, options(), whole=(0,), spare=(2, 5))


@notify.command()
@click.argument("name")
@workspace_option
def test(name: str, workspace: str | None) -> int:
    """Send a message that tries a notification, and say what came back. Exit code 1 if it was not taken."""
    client = member_client()
    sent = client.notifications.test(workspace_for(client, workspace), name, wait_s=TRIAL_S)
    told = f" ({_answer(sent)})" if _answer(sent) else ""
    if sent.status == "pending":
        answer(f"Not sent within {TRIAL_S:g} s: does a worker of the server run? It stays queued.", sent)
    else:
        answer(f"{'Delivered' if sent.status == 'delivered' else 'Not delivered'}{told}.", sent)
    return int(sent.status != "delivered")


@notify.command()
@click.argument("name")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="Maximum number.")
@workspace_option
def log(name: str, limit: int, workspace: str | None) -> None:
    """List the last messages of a notification, newest first, with the answers to them."""
    client = member_client()
    found = client.notifications.deliveries(workspace_for(client, workspace), name, limit=limit)
    if options().json:
        emit(found)
        return
    rows = [
        [when(one.created_at.timestamp()), one.event, one.status, str(one.attempts), _answer(one), one.run_id or ""]
        for one in found
    ]
    columns = ["queued", "event", "status", "attempts", "answer", "run"]
    table(columns, rows, options(), right=(3,), whole=(0, 1, 2), spare=(5,))


@notify.command()
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@workspace_option
def remove(name: str, yes: bool, workspace: str | None) -> int:
    """Remove a notification, with messages that are not sent yet."""
    client = member_client()
    place = workspace_for(client, workspace)
    found = client.notifications.get(place, name)
    if not (yes or confirmed(f"remove the notification {found.name!r} to {found.host}?")):
        click.echo("nothing was removed", err=True)
        return 1
    client.notifications.remove(place, found.id)
    answer(f"Removed the notification {found.name}.", {"removed": found.name})
    return 0


def _asked() -> str:
    if sys.stdin is None:
        raise UsageError("there is no standard input to read the URL from; write it on the line")
    if sys.stdin.isatty():
        return str(click.prompt("URL", hide_input=True, err=True))
    return sys.stdin.read(4096).strip()


def _went(sent: "DeliveryDocument | None") -> str:
    return "–" if sent is None else f"{sent.event} {sent.status}"


def _answer(sent: "DeliveryDocument | None") -> str:
    if sent is None:
        return ""
    return " ".join(filter(None, (str(sent.answer_status or ""), sent.answer)))
