"""Delete runs without blocking other writers for long."""

import time
from typing import Any

import msgspec
from sqlalchemy import LABEL_STYLE_TABLENAME_PLUS_COL, Connection, delete, select

from mesocosm.core.run import RunStatus
from mesocosm.store.blobs import drop_orphans
from mesocosm.store.database import Database
from mesocosm.store.episodes import COUNTERS
from mesocosm.store.leases import Leases
from mesocosm.store.reviews import drop_empty_rounds
from mesocosm.store.run_index import remember_deletion, write_state
from mesocosm.store.run_requests import DECLARED, PUBLIC
from mesocosm.store.schema import answers, episodes, event_chunks, run_blobs, runs, scores
from mesocosm.store.search_index import forget
from mesocosm.store.tenancy import deleted_runs, requests

_SLICE = 2_000
"""Episodes per transaction: deleting a million takes half a minute, and journals must get the lock in between."""


def delete_run(database: Database, run_id: str) -> None:
    """Delete a run (whole id) with everything that belongs to it, except blobs that other runs need.

    If interrupted, the run remains as a stopped run with zero counts, to be deleted again. Raises UnknownName;
    RunLeased while a process works on the run.
    """
    leases = Leases(database)
    owner = leases.owner()
    leases.take(run_id, owner)
    try:
        database.write(lambda connection: _mark(database, connection, run_id))
        while database.write(lambda connection: _delete_slice(connection, run_id)):
            pass
        database.write(lambda connection: _delete_row(connection, run_id))
    finally:
        leases.release(run_id, owner)


def _mark(database: Database, connection: Connection, run_id: str) -> None:
    _count_on_boards(database, connection, run_id)
    nothing: dict[str, object] = dict.fromkeys(COUNTERS, 0)
    nothing |= {"status": RunStatus.STOPPED, "metrics": "[]", "score": None, "higher_is_better": None, "chain": None}
    nothing["error"] = "deleting this run was interrupted; delete it again"
    write_state(connection, run_id, nothing)
    forget(database, connection, run_id)


def _count_on_boards(database: Database, connection: Connection, run_id: str) -> None:
    """Remember a deleted run as an attempt on leaderboards: deleting a run must not make the others look better.

    Expired runs of guests are not counted: the server removes them, which is no selection.
    """
    wanted = select(requests, runs).join(runs, runs.c.id == requests.c.run_id).where(requests.c.run_id == run_id)
    row = connection.execute(wanted.set_label_style(LABEL_STYLE_TABLENAME_PLUS_COL)).mappings().one_or_none()
    now = time.time()
    if row is None or row["orders_purpose"] == "test" or (row["orders_expires_at"] or now + 1) <= now:
        return
    if row["orders_protocol"] is None and not sum(
        int(row[f"runs_{name}"]) for name in ("completed", "truncated", "timeout", "failed")
    ):
        return
    config = msgspec.json.decode(row["orders_config"], type=dict[str, Any])
    names = ("run_id", "actor", "team_id", "domain_id", "vow_version", "model", "protocol")
    values = {name: row[f"orders_{name}"] for name in names}
    left = database.insert(deleted_runs).values(**values, declared=config.get(DECLARED) == PUBLIC, deleted_at=now)
    connection.execute(left.on_conflict_do_nothing())


def _delete_slice(connection: Connection, run_id: str) -> int:
    some = select(episodes.c.id).where(episodes.c.run_id == run_id)
    some = some.order_by(episodes.c.position, episodes.c.task_digest, episodes.c.trial).limit(_SLICE)
    # Foreign keys would cascade too, but one row at a time.
    connection.execute(delete(scores).where(scores.c.episode_id.in_(some)))
    connection.execute(delete(answers).where(answers.c.episode_id.in_(some)))
    connection.execute(delete(event_chunks).where(event_chunks.c.episode_id.in_(some)))
    return connection.execute(delete(episodes).where(episodes.c.id.in_(some))).rowcount


def _delete_row(connection: Connection, run_id: str) -> None:
    blobs = list(connection.scalars(select(run_blobs.c.digest).where(run_blobs.c.run_id == run_id)))
    connection.execute(delete(runs).where(runs.c.id == run_id))
    drop_empty_rounds(connection)
    remember_deletion(connection, run_id)
    drop_orphans(connection, blobs)
