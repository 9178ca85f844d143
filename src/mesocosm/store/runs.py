"""Runs: inserting, reading, saving, tagging."""

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, func, insert, select, update

from mesocosm.core.failure import RunHeld, UnknownName
from mesocosm.core.group import OutcomeStatus
from mesocosm.core.ids import digest
from mesocosm.core.run import Holder, Run, RunStatus
from mesocosm.store.database import Database
from mesocosm.store.episodes import new_means
from mesocosm.store.holder import abandoned
from mesocosm.store.lines import insert_line, key, refresh_line, replace_tags
from mesocosm.store.part import Part, resolve
from mesocosm.store.rows import holder_from, json_text, plain, run_from, run_values, search_text, state_values
from mesocosm.store.schema import benchmarks, invocations, outcomes, run_lines, runs
from mesocosm.store.seals import rechain


class Runs(Part):
    """Runs of the store."""

    def add_run(self, run: Run, *, alone: bool = False) -> Run:
        """Insert a run and return it with its attempt number (1 + the highest one of this signature).

        With `alone` nothing is inserted while a living process works on the same experiment, nor where a run of this
        kind has its name already; RunHeld names that run.
        """

        def work(connection: Connection) -> int:
            if self._database.postgres:
                # Two processes that add the same experiment at once must not both become attempt n.
                _lock(connection, run.signature)
            known = connection.scalar(select(runs.c.attempt).where(runs.c.id == run.id))
            if known is not None:
                return int(known)
            if alone:
                _check_alone(connection, run.signature)
                _check_name(self._database, connection, run)
            last = connection.scalar(select(func.max(runs.c.attempt)).where(runs.c.signature == run.signature))
            run.attempt = (last or 0) + 1
            insert_run(self._database, connection, run)
            return run.attempt

        run.attempt = self._database.write(work)
        return run

    def get_run(self, run_id: str) -> Run:
        """Return a run by id or unique prefix. Raises UnknownName with a suggestion."""

        def work(connection: Connection) -> Run:
            found = resolve(connection, runs, run_id)
            return run_from(connection.execute(select(runs).where(runs.c.id == found)).mappings().one())

        return self._database.read(work)

    def save_run(self, run: Run, holder: Holder | None = None, *, terms: bool = False) -> None:
        """Write status, target, metrics, times, error and warnings of a run; counters belong to the journal.

        With `terms` also its spec and info, all or none of them.
        Raises RunHeld when a `holder` is given and the run is not (or no longer) its, UnknownName.
        """
        values = state_values(run)
        if terms:
            values |= {"spec": json_text(run.spec), "info": json_text(run.info)}
        if run.ended_at is not None:
            values |= new_means(self._database, run.id)

        def work(connection: Connection) -> bool:
            if holder is not None:
                _check_holder(connection, run.id, holder)
            known = write_state(connection, run.id, values)
            if known and connection.scalar(select(runs.c.chain).where(runs.c.id == run.id)) is None:
                rechain(connection, run.id)
            return known

        if not self._database.write(work):
            raise UnknownName(_gone(run.id))

    def request_stop(self, run_id: str) -> None:
        """Ask whoever works on a run to stop it; its next heartbeat sees it. Raises UnknownName."""
        asked = update(runs).where(runs.c.id == run_id).values(stop_requested=True)

        def work(connection: Connection) -> int:
            known = connection.execute(asked).rowcount
            refresh_line(connection, run_id)
            return known

        if not self._database.write(work):
            raise UnknownName(_gone(run_id))

    def set_tags(self, run_id: str, tags: Iterable[str]) -> None:
        """Replace the tags of a run. Raises UnknownName."""
        new = tuple(dict.fromkeys(tags))
        run = self.get_run(run_id)
        fields = (run.name, run.benchmark, run.benchmark_title, run.model, run.agent)
        search = search_text(run.id, fields, new)

        def work(connection: Connection) -> int:
            values = {"tags": json_text(new), "search": search}
            known = connection.execute(update(runs).where(runs.c.id == run.id).values(values)).rowcount
            if known:
                replace_tags(self._database, connection, run.id, new, search)
            return known

        if not self._database.write(work):
            raise UnknownName(_gone(run.id))


def _lock(connection: Connection, what: str) -> None:
    """Have all others who lock the same wait for the end of this transaction of PostgreSQL."""
    connection.execute(select(func.pg_advisory_xact_lock(int(digest(what)[:15], 16))))


def _gone(run_id: str) -> str:
    return f"there is no run {run_id!r}; it may have been deleted"


def _check_holder(connection: Connection, run_id: str, holder: Holder) -> None:
    """Raise RunHeld when another process took the run over, and let nobody take it until the transaction ends."""
    found = connection.execute(select(runs.c.holder).where(runs.c.id == run_id).with_for_update()).one_or_none()
    if found is not None and found.holder != json_text(holder):
        now = holder_from(found.holder) or "nobody"
        raise RunHeld(f"run {run_id} is no longer this process's: {now} holds it now; what was written before is kept")


def write_state(connection: Connection, run_id: str, values: Mapping[str, object]) -> bool:
    """Write columns of a run and its line with them; return whether there is such a run."""
    known = connection.execute(update(runs).where(runs.c.id == run_id).values(values)).rowcount
    refresh_line(connection, run_id)
    return bool(known)


def insert_run(database: Database, connection: Connection, run: Run) -> None:
    """Insert a run as it is, with its group and its benchmark where they are new."""
    if run.group_id:
        bare = database.insert(invocations).values(id=run.group_id, created_at=run.created_at)
        connection.execute(bare.on_conflict_do_nothing())
    benchmark = (plain(run.benchmark), plain(run.benchmark_digest), plain(run.benchmark_version))
    used = (*benchmark, plain(run.benchmark_title), run.kind, run.created_at)
    database.add(connection, benchmarks, [used], known="keep")
    connection.execute(insert(runs).values(run_values(run)))
    insert_line(database, connection, run)
    if run.group_id:
        # What is written of a benchmark before its run is there cannot refer to it yet.
        one = outcomes.c
        here = (one.group_id == run.group_id, one.signature == run.signature, one.run_id.is_(None))
        waiting = update(outcomes).where(*here, one.status == OutcomeStatus.RUNNING)
        connection.execute(waiting.values(run_id=run.id, ran=True))


def _check_alone(connection: Connection, signature: str) -> None:
    going = (RunStatus.PENDING.value, RunStatus.RUNNING.value)
    wanted = select(runs).where(runs.c.signature == signature, runs.c.status.in_(going))
    for row in connection.execute(wanted).mappings():
        rival = run_from(row)
        if not abandoned(rival):
            who = f" by {rival.holder}" if rival.holder else ""
            raise RunHeld(f"run {rival.id} of the same experiment is going on{who}")


def _check_name(database: Database, connection: Connection, run: Run) -> None:
    if not run.name:
        return
    if database.postgres:
        _lock(connection, f"name {run.kind} {run.name}")
    lines = select(run_lines.c.run_id).where(
        run_lines.c.name == key(run.name.casefold()), run_lines.c.kind == key(run.kind)
    )
    wanted = select(runs.c.id).where(runs.c.id.in_(lines), runs.c.name == plain(run.name)).limit(1)
    rival = connection.scalar(wanted)
    if rival is not None:
        raise RunHeld(
            f"another command has begun run {run.name!r} at the same time ({rival}); this command again looks at it"
        )
