"""One run, one process: taking a run, giving it back, and telling who has it."""

import threading
import time
from datetime import UTC, datetime

from sqlalchemy import Connection, RowMapping, and_, delete, or_, select, update

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import RunHeld, UnknownName
from mesocosm.core.run import Holder
from mesocosm.store.clock import now
from mesocosm.store.database import Database
from mesocosm.store.episodes import keep_usage, mend_counters
from mesocosm.store.holder import alive, this_process
from mesocosm.store.lines import refresh_line
from mesocosm.store.part import Part
from mesocosm.store.rows import holder_from, json_text
from mesocosm.store.schema import UNUSUAL, episodes, runs

SILENCE = 60.0
"""Seconds without a heartbeat after which a process that cannot be looked at counts as dead."""

_UNFINISHED = (EpisodeStatus.PENDING, EpisodeStatus.RUNNING, EpisodeStatus.CANCELLED)

_mine: set[tuple[str, str, Holder]] = set()
_lock = threading.Lock()


class Holding(Part):
    """Which process works on which run."""

    def holder(self) -> Holder:
        """Return what identifies this process."""
        return this_process()

    def hold(self, run_id: str, holder: Holder) -> None:
        """Take a run; removes what an interrupted process left unfinished. Raises RunHeld, UnknownName.

        Free is a run that nobody holds, or whose holder is dead: provably (same machine and boot, process gone or its
        id given to another), or silent for 60 s where that cannot be looked at. One conditional UPDATE decides.
        """
        key = (str(self._database.engine.url), run_id, holder)
        with _lock:
            if key in _mine:
                raise RunHeld(f"run {run_id} is worked on by this very process already; let it finish there first")
            _mine.add(key)
        try:
            self._database.write(lambda connection: _take(connection, run_id, holder))
        except BaseException:
            _mine.discard(key)
            raise

    def release(self, run_id: str, holder: Holder) -> None:
        """Give a run back; nothing happens when another process has taken it over."""
        given = update(runs).where(runs.c.id == run_id, runs.c.holder == json_text(holder))

        def work(connection: Connection) -> None:
            if connection.execute(given.values(holder=None, held_at=None)).rowcount:
                refresh_line(connection, run_id)

        try:
            self._database.write(work)
        finally:
            _mine.discard((str(self._database.engine.url), run_id, holder))

    def evict(self, run_id: str, silence_s: float) -> bool:
        """Take a run from a process of which nothing was heard for so long, alive or not; return whether it was.

        For who has another claim to the run, such as the lease of a queue. When the process goes on it finds that the
        run is not its own any more, and writes nothing.
        """

        def work(connection: Connection) -> bool:
            row = _state(connection, run_id)
            if row["holder"] is None or _age(row, now(connection)) <= silence_s:
                return False
            silent = and_(runs.c.holder == row["holder"], runs.c.heartbeat_at.is_not_distinct_from(row["heartbeat_at"]))
            free = update(runs).where(runs.c.id == run_id, silent).values(holder=None, held_at=None)
            taken = connection.execute(free).rowcount > 0
            refresh_line(connection, run_id)
            return taken

        return self._database.write(work)


def check_free(database: Database, connection: Connection, run_id: str) -> None:
    """Raise RunHeld while a process, this one included, works on the run; UnknownName when there is no such run."""
    row = _state(connection, run_id)
    if held_by_this_process(database, run_id) or _busy(row, this_process(), now(connection)):
        raise RunHeld(held_message(run_id, row))


def held_by_this_process(database: Database, run_id: str) -> bool:
    """Return whether something in this very process works on the run."""
    return (str(database.engine.url), run_id, this_process()) in _mine


def _take(connection: Connection, run_id: str, holder: Holder) -> None:
    row = _state(connection, run_id)
    at = now(connection)
    if _busy(row, holder, at):
        raise RunHeld(held_message(run_id, row))
    unchanged = or_(
        runs.c.holder.is_(None), and_(runs.c.holder == row["holder"], runs.c.heartbeat_at == row["heartbeat_at"])
    )
    taken = connection.execute(
        update(runs)
        .where(runs.c.id == run_id, unchanged)
        .values(holder=json_text(holder), held_at=at, heartbeat_at=at, stop_requested=False)
    )
    if not taken.rowcount:
        raise RunHeld(held_message(run_id, _state(connection, run_id)))
    drop_unfinished(connection, run_id)
    mend_counters(connection, run_id)
    refresh_line(connection, run_id)


def drop_unfinished(connection: Connection, run_id: str) -> None:
    """Remove what an interrupted process left of episodes that never finished, with their traces."""
    left = delete(episodes).where(episodes.c.run_id == run_id, UNUSUAL, episodes.c.status.in_(_UNFINISHED))
    keep_usage(connection, run_id, left.whereclause)
    connection.execute(left)


def _state(connection: Connection, run_id: str) -> RowMapping:
    columns = (runs.c.holder, runs.c.held_at, runs.c.heartbeat_at)
    row = connection.execute(select(*columns).where(runs.c.id == run_id)).mappings().one_or_none()
    if row is None:
        raise UnknownName(f"there is no run {run_id!r}; it may have been deleted")
    return row


def _busy(row: RowMapping, me: Holder, at: float) -> bool:
    """Return whether another process than `me` works on the run."""
    holder = holder_from(row["holder"])
    if holder is None or holder == me:
        return False
    living = alive(holder)
    return _age(row, at) <= SILENCE if living is None else living


def _age(row: RowMapping, at: float) -> float:
    return at - (row["heartbeat_at"] or row["held_at"] or 0.0)


def held_message(run_id: str, row: RowMapping) -> str:
    """Return who holds a run since when, and what to do about it."""
    holder = holder_from(row["holder"])
    since = datetime.fromtimestamp(row["held_at"] or 0.0, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    age = _age(row, time.time())
    text = (
        f"run {run_id} is worked on by {holder} since {since}, last heard of {age:.0f} s ago; "
        f"wait for it, or stop it with: mesocosm run stop {run_id}"
    )
    if holder is not None and alive(holder) is None:
        text += f" (if that process is dead, the run becomes free in {max(SILENCE - age, 0):.0f} s)"
    return text
