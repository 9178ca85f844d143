"""Verify stored runs against their checksums, and report damage."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import zstandard
from sqlalchemy import Connection, select

from mesocosm.core.episode import FINISHED
from mesocosm.core.failure import InfrastructureError, UnknownName
from mesocosm.core.ids import digest_bytes
from mesocosm.store.database import Database, batches
from mesocosm.store.schema import blobs, episodes, event_chunks, run_blobs, runs
from mesocosm.store.seals import (
    HALF,
    SEALED,
    Chain,
    Row,
    checksums,
    read_chain,
    row_checksum,
    stored_rows,
    trace_checksum,
)
from mesocosm.store.traces import Traces

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that differs from what was written: its run, its episode (empty: the run itself), and a description."""

    run_id: str
    episode_id: str
    index: int | None
    what: str


@dataclass(frozen=True, slots=True)
class Verified:
    """Result of verifying a run. `covered` of its `finished` episodes have a checksum."""

    run_id: str
    finished: int
    covered: int
    damages: tuple[Damage, ...]


class Verification:
    """Checks of stored data."""

    def __init__(self, database: Database, traces: Traces) -> None:
        self._database = database
        self._traces = traces

    def check_file(self, seconds: float | None = None) -> str:
        """Return what is wrong with the SQLite file; empty if nothing is, or if the database is not SQLite.

        The whole file is read, or as much as can be read in `seconds`.
        """
        if self._database.postgres:
            return ""
        found: list[str] = []
        with self._database.once() as connection:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            # SQLite 3.40 calls a progress handler only after a whole tree of pages, which can be most of the file.
            end = threading.Timer(seconds or 0.0, driver.interrupt)
            if seconds is not None:
                end.start()
            try:
                found += (str(row[0]) for row in driver.execute(f"PRAGMA quick_check({_SHOWN})"))
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                    found.append(str(error))
            except sqlite3.DatabaseError as error:
                found.append(str(error))
            finally:
                end.cancel()
                if seconds is not None:
                    end.join()
        return "; ".join(line for line in found if line != "ok")

    def check_run(self, run_id: str) -> Verified:
        """Read everything stored of a run and compare it with the checksums. Raises InfrastructureError."""
        head, ids = self._database.read(lambda connection: _listed(connection, run_id))
        damages = [*self._chain(run_id, head)]
        finished = covered = 0
        for some in batches(ids):
            for episode_id, row, listed, answer in self._database.read(partial(_rows, ids=some)):
                if row[5] not in FINISHED:
                    continue
                finished += 1
                sealed = str(row[-SEALED] or "")
                covered += bool(sealed)
                found = self._episode(episode_id, sealed, row_checksum(row[:-SEALED], listed, answer))
                damages += [Damage(run_id, episode_id, int(row[4]), what) for what in found]
        damages += [Damage(run_id, "", None, what) for what in self._blobs(run_id)]
        return Verified(run_id, finished, covered, tuple(damages))

    def _chain(self, run_id: str, head: str) -> Iterator[Damage]:
        end = read_chain(head)
        if head and end is None:
            yield Damage(run_id, "", None, f"the head of its chain cannot be read: {head!r:.60}")
        if end is None:
            return
        here = self._database.read(lambda connection: Chain().extended(checksums(connection, run_id)))
        if here.length != end.length:
            yield Damage(run_id, "", None, f"{end.length} finished episodes were recorded, {here.length} are there")
        elif here != end:
            yield Damage(run_id, "", None, "the chain over its episodes does not end as it was recorded")

    def _episode(self, episode_id: str, sealed: str, row: str) -> Iterator[str]:
        if sealed and sealed[:HALF] != row:
            yield "its row or its scores are not what was recorded"
        trace = ""
        wanted = select(event_chunks).where(event_chunks.c.episode_id == episode_id).order_by(event_chunks.c.seq)
        with self._database.once() as connection:
            for chunk in connection.execution_options(yield_per=8).execute(wanted):
                trace = trace_checksum([chunk], trace)
                try:
                    self._traces.read_chunk(tuple(chunk))
                except (InfrastructureError, zstandard.ZstdError, MemoryError):
                    yield f"events {chunk.first_event} to {chunk.last_event} of its trace are damaged"
                    sealed = ""
        if sealed and sealed[HALF:] != trace:
            yield "its trace is not what was recorded"

    def _blobs(self, run_id: str) -> Iterator[str]:
        wanted = (
            select(blobs.c.digest, blobs.c.data, blobs.c.outside)
            .join(run_blobs, run_blobs.c.digest == blobs.c.digest)
            .where(run_blobs.c.run_id == run_id)
        )
        with self._database.once() as connection:
            for digest, data, outside in connection.execution_options(yield_per=8).execute(wanted):
                try:
                    packed = self._database.outside(digest) if outside else data
                    raw = zstandard.ZstdDecompressor().decompress(packed)
                except UnknownName:
                    yield f"the content {digest} that its traces refer to is not in the object store"
                    continue
                except (zstandard.ZstdError, MemoryError):
                    raw = b""
                if digest_bytes(raw) != digest:
                    yield f"the content {digest} that its traces refer to is damaged"


def _rows(connection: Connection, ids: Sequence[str]) -> list[tuple[str, Row, list[Row], Row | None]]:
    return list(stored_rows(connection, ids))


def _listed(connection: Connection, run_id: str) -> tuple[str, list[str]]:
    head = connection.scalar(select(runs.c.chain).where(runs.c.id == run_id))
    wanted = select(episodes.c.id).where(episodes.c.run_id == run_id).order_by(episodes.c.position, episodes.c.id)
    return head or "", list(connection.scalars(wanted))
