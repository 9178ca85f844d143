"""Following the build of a submitted environment."""

import time
from typing import TYPE_CHECKING

import click

from mesocosm.cli.remote.watch import pauses

if TYPE_CHECKING:
    from mesocosm.client.client import Client
    from mesocosm.server.schemas.environment import EnvironmentDetail

OVER = frozenset({"ready", "failed"})
SEAM = 400
"""Characters by which the place is found again in a log whose beginning was left out."""


def follow(client: "Client", env_id: str, every_s: float) -> "EnvironmentDetail":
    """Write the log of the newest version to standard error as it grows, and return the environment when it is over."""
    seen, stage, waits = "", "", pauses(every_s)
    while True:
        # Asked first: what is written until then is in the log that is read after it.
        poll = client.environments.poll(env_id)
        log = client.environments.logs(env_id, poll.submission_version).build
        click.echo(added(seen, log), nl=False, err=True)
        seen = log
        if poll.status in OVER:
            return client.environments.get(env_id)
        if poll.stage != stage:
            stage = poll.stage
            click.echo(f"version {poll.submission_version}: {stage or poll.status}", err=True)
        time.sleep(next(waits))


def added(before: str, now: str) -> str:
    """Return what a log has that it had not before, also where its beginning was left out meanwhile."""
    if now.startswith(before):
        return now[len(before) :]
    _, seam, rest = now.rpartition(before[-SEAM:])
    return rest if seam else now
