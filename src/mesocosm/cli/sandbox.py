"""`mesocosm sandbox …`: containers that runs started, and what is left of those whose process has ended."""

import asyncio
from typing import TYPE_CHECKING

import click

from mesocosm.cli.command import MesocosmGroup, options
from mesocosm.cli.render import answer, emit, table, when
from mesocosm.core.failure import InfrastructureError

if TYPE_CHECKING:
    from mesocosm.core.container import ContainerEngine, ContainerLease

USED, LEFT, UNKNOWN = "in use", "left", "unknown"


@click.group(cls=MesocosmGroup)
def sandbox() -> None:
    """List and remove containers that runs of task folders started on this machine."""


@sandbox.command("list")
def list_() -> None:
    """List the containers, with the process that each belongs to.

    `left` are those whose process has ended; `sandbox prune` removes them. Of a process of another machine, boot or
    container nothing is known.
    """
    found = asyncio.run(_leases())
    if options().json:
        emit({"containers": [_document(lease) for _, lease in found]})
        return
    rows = [
        [lease.engine, lease.name, lease.labels.get("task", ""), str(lease.owner or ""), state(lease), _since(lease)]
        for _, lease in found
    ]
    table(("engine", "container", "task", "of", "state", "since"), rows, options())


@sandbox.command("prune")
@click.option("--all", "everything", is_flag=True, help="Also those of processes of which nothing is known.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
def prune(everything: bool, dry_run: bool) -> int:
    """Remove containers whose process has ended, with their files. Those that are in use stay."""
    doomed = {LEFT, UNKNOWN} if everything else {LEFT}
    found = [(engine, lease) for engine, lease in asyncio.run(_leases()) if state(lease) in doomed]
    failed = [] if dry_run else asyncio.run(_remove(found))
    gone = [lease for _, lease in found if lease.name not in failed]
    words = "would be removed" if dry_run else "removed"
    lines = [f"{words}: {lease.engine} {lease.name}  {lease.labels.get('task', '')}".rstrip() for lease in gone]
    answer("\n".join(lines) or "nothing is left of processes that have ended", {"removed": list(map(_document, gone))})
    return 4 if failed else 0


def state(lease: "ContainerLease") -> str:
    """Return whether the process of a container is alive: in use, left, or unknown."""
    from mesocosm.store.lease_owner import alive

    known = None if lease.owner is None else alive(lease.owner)
    return UNKNOWN if known is None else USED if known else LEFT


async def _leases() -> "list[tuple[ContainerEngine, ContainerLease]]":
    from mesocosm.sandboxes.containers.engines import installed
    from mesocosm.store.lease_owner import this_process

    found: list[tuple[ContainerEngine, ContainerLease]] = []
    for engine in installed(this_process()):
        try:
            found += [(engine, lease) for lease in await engine.leases()]
        except InfrastructureError as error:
            click.echo(f"warning: {error}", err=True)
    return found


async def _remove(found: "list[tuple[ContainerEngine, ContainerLease]]") -> list[str]:
    failed: list[str] = []
    for engine, lease in found:
        try:
            await engine.remove(lease.name)
        except InfrastructureError as error:
            failed.append(lease.name)
            click.echo(f"error: {error}", err=True)
    return failed


def _since(lease: "ContainerLease") -> str:
    return when(lease.since) if lease.since else ""


def _document(lease: "ContainerLease") -> dict[str, object]:
    owner = None if lease.owner is None else {"host": lease.owner.host, "pid": lease.owner.pid}
    return {
        "engine": lease.engine,
        "name": lease.name,
        "labels": lease.labels,
        "owner": owner,
        "state": state(lease),
        "since": lease.since or None,
    }
