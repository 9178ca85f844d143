"""The narrow index row of each run, which listings sort and filter by."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, case, delete, insert, select, update

from mesocosm.core.group import OutcomeStatus
from mesocosm.core.ids import digest_bytes
from mesocosm.core.run import Run
from mesocosm.store.database import Database
from mesocosm.store.rows import plain, run_values
from mesocosm.store.schema import benchmarks, invocations, outcomes, run_deletions, run_index, run_tags, runs

KEY = 200
"""Maximum characters of an indexed word; PostgreSQL limits all columns of an index entry to 2,700 bytes."""

SEPARATOR = "\x1f"
"""Delimits each tag in an index row."""

_REMEMBERED = 24 * 3600.0
"""Seconds to remember deleted runs."""


def key(word: str) -> str:
    """Return a word as listings compare it; a word that is too long is cut and ends with its digest to stay unique."""
    word = plain(word)
    return word if len(word) <= KEY else word[: KEY - 32] + digest_bytes(word.encode())


def joined(tags: Iterable[str]) -> str:
    """Return tags as stored in an index row: each between separators."""
    found = [tag_key(tag) for tag in tags]
    return SEPARATOR + SEPARATOR.join(found) + SEPARATOR if found else ""


def tag_key(tag: str) -> str:
    """Return a tag as stored in index rows and in the table of tags."""
    return key(tag.replace(SEPARATOR, " "))


def index_values(run: Run) -> dict[str, Any]:
    """Return the index row of a run as column values."""
    row = run_values(run)
    return {
        "run_id": run.id,
        "created_at": run.created_at,
        "changed_at": time.time(),
        "status": row["status"],
        "name": key(run.name.casefold()),
        "benchmark": key(run.benchmark),
        "benchmark_digest": key(run.benchmark_digest),
        "kind": key(run.kind),
        "model": key(run.model),
        "agent": key(run.agent),
        "group_id": row["group_id"],
        "attempt": run.attempt,
        "score": row["score"],
        "cost": run.usage.cost_usd,
        "tokens": run.usage.total,
        "duration": None if run.ended_at is None or run.started_at is None else run.ended_at - run.started_at,
        "tags": joined(run.tags),
        "search": row["search"],
    }


def insert_index_row(database: Database, connection: Connection, run: Run) -> None:
    """Insert the index row and the tags of a newly inserted run."""
    connection.execute(insert(run_index).values(index_values(run)))
    insert_tags(database, connection, run.id, run.tags)
    connection.execute(delete(run_deletions).where(run_deletions.c.run_id == run.id))


def insert_tags(database: Database, connection: Connection, run_id: str, tags: Sequence[str]) -> None:
    """Insert the tags of a run that has none."""
    database.add(connection, run_tags, [(tag, run_id) for tag in dict.fromkeys(map(tag_key, tags))], known="keep")


def replace_tags(database: Database, connection: Connection, run_id: str, tags: Sequence[str], search: str) -> None:
    """Replace the tags of a run in its index row and in the table of tags."""
    connection.execute(delete(run_tags).where(run_tags.c.run_id == run_id))
    insert_tags(database, connection, run_id, tags)
    new = {"tags": joined(tags), "search": search, "changed_at": time.time()}
    connection.execute(update(run_index).where(run_index.c.run_id == run_id).values(new))


def refresh_index_row(connection: Connection, run_id: str) -> None:
    """Update the index row of a run from its row, and mark it as changed."""

    def of_run(value: Any) -> Any:
        return select(value).where(runs.c.id == run_id).scalar_subquery()

    new = {
        "status": of_run(runs.c.status),
        "score": of_run(runs.c.score),
        "cost": of_run(case((runs.c.cost_unknown > 0, None), else_=runs.c.cost_usd)),
        "tokens": of_run(runs.c.prompt_tokens + runs.c.completion_tokens),
        "duration": of_run(runs.c.ended_at - runs.c.started_at),
        "changed_at": time.time(),
    }
    # A run deleted in the meantime has neither row; the update then does nothing.
    connection.execute(update(run_index).where(run_index.c.run_id == run_id).values(new))


def remember_deletion(connection: Connection, run_id: str) -> None:
    """Record that a run was deleted, and forget deletions from long ago."""
    now = time.time()
    connection.execute(delete(run_deletions).where(run_deletions.c.deleted_at < now - _REMEMBERED))
    connection.execute(delete(run_deletions).where(run_deletions.c.run_id == run_id))
    connection.execute(insert(run_deletions).values(run_id=run_id, deleted_at=now))


def write_state(connection: Connection, run_id: str, values: Mapping[str, object]) -> bool:
    """Update columns of a run and its index row; return whether the run exists."""
    known = connection.execute(update(runs).where(runs.c.id == run_id).values(values)).rowcount
    refresh_index_row(connection, run_id)
    return bool(known)


def insert_run(database: Database, connection: Connection, run: Run) -> None:
    """Insert a run as it is, with its group and its benchmark if they are new."""
    if run.group_id:
        bare = database.insert(invocations).values(id=run.group_id, created_at=run.created_at)
        connection.execute(bare.on_conflict_do_nothing())
    benchmark = (plain(run.benchmark), plain(run.benchmark_digest), plain(run.benchmark_version))
    used = (*benchmark, plain(run.benchmark_title), run.kind, run.created_at)
    database.add(connection, benchmarks, [used], known="keep")
    connection.execute(insert(runs).values(run_values(run)))
    insert_index_row(database, connection, run)
    if run.group_id:
        # An outcome written before its run existed could not refer to it yet.
        one = outcomes.c
        here = (one.group_id == run.group_id, one.signature == run.signature, one.run_id.is_(None))
        waiting = update(outcomes).where(*here, one.status == OutcomeStatus.RUNNING)
        connection.execute(waiting.values(run_id=run.id, ran=True))
