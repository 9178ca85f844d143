"""Seats: places in a run for other processes that help to play it, and the messages of both sides, in PostgreSQL.

The process that works on the run offers seats. A helper takes one under a lease. Whoever has lost its lease can neither
read nor deliver anything more, and a process that has lost the run offers nothing more.
"""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)

from mesocosm.core.failure import RunLeased, UsageError
from mesocosm.core.ids import new_id
from mesocosm.core.ports import Seat, SeatMessage, SeatNews
from mesocosm.core.run import LeaseOwner
from mesocosm.store.bell import WORK, SqlBell, ring
from mesocosm.store.clock import now
from mesocosm.store.database import Database
from mesocosm.store.leases import SILENCE
from mesocosm.store.rows import json_text, plain
from mesocosm.store.schema import runs
from mesocosm.store.tenancy import requests, seat_messages, seats


class Seats:
    """Seats in runs. Implements core.ports.SeatStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def check(self) -> None:
        """Raise UsageError if there can be no seats here."""
        if not self._database.postgres:
            raise UsageError(
                f"the executor queue needs PostgreSQL, and results are in the file {self._database.place}; play on all "
                "cores of this machine with --executor processes:N, or name a database with --database-url"
            )

    def bell(self, name: str = "") -> SqlBell:
        """Return the bell of a seat or run with this id; without one, that of all workers."""
        return SqlBell(self._database, _channel(name) if name else WORK)

    def clear(self, run_id: str, holder: LeaseOwner) -> None:
        """Remove all seats of a run; helpers in them stop. Raises RunLeased if `holder` has not leased it."""

        def work(connection: Connection) -> None:
            self._check(connection, run_id, holder)
            for seat_id in connection.scalars(delete(seats).where(seats.c.run_id == run_id).returning(seats.c.id)):
                ring(connection, _channel(seat_id))

        self._database.write(work)

    def exchange(
        self,
        run_id: str,
        holder: LeaseOwner,
        wanted: int,
        posted: Sequence[SeatMessage],
        received: Mapping[str, int],
    ) -> tuple[Sequence[SeatNews], Sequence[SeatMessage]]:
        """Post messages to helpers; return the taken seats of a run, and the messages of their helpers in order.

        Offers so many seats that `wanted` are free. `received` is the last message of each seat that need not come
        again. Seats whose lease is over are removed. Calling it again with the same messages changes nothing. Raises
        RunLeased if a seat is wanted and `holder` has not leased the run.
        """
        mine = and_(seats.c.run_id == run_id, seats.c.holder == json_text(holder))

        def work(connection: Connection) -> tuple[Sequence[SeatNews], Sequence[SeatMessage]]:
            at = now(connection)
            self._post(connection, posted, to_helper=True)
            self._forget(connection, received, to_helper=False)
            over = and_(mine, seats.c.left_at.is_(None), seats.c.lease_until < at)
            connection.execute(delete(seats).where(over))
            columns = (seats.c.id, seats.c.helper, seats.c.name, seats.c.left_at, seats.c.reason)
            rows = connection.execute(select(*columns).where(mine)).all()
            self._offer(connection, run_id, holder, wanted - sum(row.helper is None for row in rows))
            unread = (
                select(seat_messages.c.seat_id, seat_messages.c.number, seat_messages.c.body)
                .join(seats, seats.c.id == seat_messages.c.seat_id)
                .where(mine, seat_messages.c.to_helper.is_(False))
                .order_by(seat_messages.c.seat_id, seat_messages.c.number)
            )
            messages = [SeatMessage(row[0], row[1], bytes(row[2])) for row in connection.execute(unread)]
            for seat_id in {message.seat_id for message in posted}:
                ring(connection, _channel(seat_id))
            taken = [row for row in rows if row.helper is not None]
            return [SeatNews(row.id, row.name, row.left_at is not None, row.reason) for row in taken], messages

        return self._database.write(work)

    def withdraw(self, seat_ids: Collection[str]) -> None:
        """Remove seats; helpers in them stop."""

        def work(connection: Connection) -> None:
            connection.execute(delete(seats).where(seats.c.id.in_(list(seat_ids))))
            for seat_id in seat_ids:
                ring(connection, _channel(seat_id))

        if seat_ids:
            self._database.write(work)

    def take(
        self, name: str, lease_s: float, *, run_id: str = "", without: Collection[str] = (), hosted: bool = False
    ) -> Seat | None:
        """Lease a free seat to a helper called `name`; None if there is none.

        First in the run with the fewest helpers, then in the oldest. With `run_id` only in that run, not in the runs of
        `without`, with `hosted` only in runs that a worker of a server plays.
        """
        token = new_id()

        def work(connection: Connection) -> Seat | None:
            at = now(connection)
            known = connection.execute(select(seats.c.id, seats.c.run_id).where(seats.c.helper == token)).one_or_none()
            if known is not None:
                # This was committed, but the connection was lost before we learned of it.
                return Seat(known.id, known.run_id, token)
            others = seats.alias()
            helpers = select(func.count()).where(
                others.c.run_id == seats.c.run_id, others.c.helper.is_not(None), others.c.left_at.is_(None)
            )
            wanted = (
                select(seats.c.id, seats.c.run_id)
                .join(runs, runs.c.id == seats.c.run_id)
                .where(seats.c.helper.is_(None), seats.c.run_id.not_in(list(without)), _worked_on(at))
                .order_by(helpers.scalar_subquery(), runs.c.created_at, seats.c.offered_at, seats.c.id)
                .limit(1)
                .with_for_update(of=seats, skip_locked=True)
            )
            if run_id:
                wanted = wanted.where(seats.c.run_id == run_id)
            if hosted:
                claimed = select(requests.c.run_id).where(requests.c.state == "claimed")
                wanted = wanted.where(seats.c.run_id.in_(claimed))
            row = connection.execute(wanted).one_or_none()
            if row is None:
                return None
            new = {"helper": token, "name": plain(name), "lease_until": at + lease_s}
            connection.execute(update(seats).where(seats.c.id == row.id).values(new))
            ring(connection, _channel(row.run_id))
            return Seat(row.id, row.run_id, token)

        return self._database.write(work)

    def visit(
        self, seat: Seat, lease_s: float, posted: Sequence[SeatMessage], received: int
    ) -> Sequence[SeatMessage] | None:
        """Renew the lease of a seat, deliver messages, and return those to its helper; None if the seat is lost.

        It is lost when the lease is over, when the seat was withdrawn, and when nobody works on the run any more.
        `received` is the last message that need not come again. Calling it again with the same messages changes
        nothing.
        """

        def work(connection: Connection) -> Sequence[SeatMessage] | None:
            at = now(connection)
            # The row stays locked until the messages are there: nobody can end the lease in between.
            mine = (seats.c.id == seat.id, seats.c.helper == seat.proof, seats.c.left_at.is_(None))
            valid = (*mine, seats.c.lease_until >= at, runs.c.id == seats.c.run_id, _worked_on(at))
            if not connection.execute(update(seats).where(*valid).values(lease_until=at + lease_s)).rowcount:
                return None
            self._post(connection, posted, to_helper=False)
            self._forget(connection, {seat.id: received}, to_helper=True)
            unread = (
                select(seat_messages.c.number, seat_messages.c.body)
                .where(seat_messages.c.seat_id == seat.id, seat_messages.c.to_helper.is_(True))
                .order_by(seat_messages.c.number)
            )
            if posted:
                ring(connection, _channel(seat.run_id))
            return [SeatMessage(seat.id, row[0], bytes(row[1])) for row in connection.execute(unread)]

        return self._database.write(work)

    def leave(self, seat: Seat, reason: str) -> None:
        """Give a seat back, with the reason why the helper cannot go on, if there is one."""
        mine = (seats.c.id == seat.id, seats.c.helper == seat.proof, seats.c.left_at.is_(None))

        def work(connection: Connection) -> None:
            left = update(seats).where(*mine).values(left_at=now(connection), reason=plain(reason))
            if connection.execute(left).rowcount:
                ring(connection, _channel(seat.run_id))

        self._database.write(work)

    def _offer(self, connection: Connection, run_id: str, holder: LeaseOwner, count: int) -> None:
        if count <= 0:
            return
        self._check(connection, run_id, holder)
        at, by = now(connection), json_text(holder)
        new = {"run_id": run_id, "holder": by, "name": "", "reason": "", "offered_at": at}
        connection.execute(insert(seats), [{"id": new_id(), **new} for _ in range(count)])
        ring(connection)

    def _check(self, connection: Connection, run_id: str, holder: LeaseOwner) -> None:
        """Raise RunLeased if a process does not work on the run; nobody can take it before the transaction ends."""
        mine = select(runs.c.id).where(runs.c.id == run_id, runs.c.holder == json_text(holder))
        if connection.scalar(mine.with_for_update(read=True)) is None:
            raise RunLeased(f"run {run_id} is no longer this process's; what was written before is kept")

    def _post(self, connection: Connection, posted: Sequence[SeatMessage], *, to_helper: bool) -> None:
        """Store messages whose seat is still there, once."""
        if not posted:
            return
        columns = ["seat_id", "to_helper", "number", "body"]
        there = (
            select(
                seats.c.id,
                literal(to_helper, Boolean),
                bindparam("new_number", type_=seat_messages.c.number.type),
                bindparam("new_body", type_=seat_messages.c.body.type),
            )
            .where(seats.c.id == bindparam("of_seat"))
            .with_for_update(read=True, key_share=True)
        )
        statement = self._database.insert(seat_messages).from_select(columns, there).on_conflict_do_nothing()
        values = [{"of_seat": one.seat_id, "new_number": one.number, "new_body": one.body} for one in posted]
        connection.execute(statement, values)

    def _forget(self, connection: Connection, received: Mapping[str, int], *, to_helper: bool) -> None:
        read = delete(seat_messages).where(
            seat_messages.c.seat_id == bindparam("of_seat"),
            seat_messages.c.to_helper.is_(to_helper),
            seat_messages.c.number <= bindparam("last"),
        )
        if values := [{"of_seat": seat_id, "last": last} for seat_id, last in received.items() if last]:
            connection.execute(read, values)


def _worked_on(at: float) -> ColumnElement[bool]:
    """Return the condition that the process which offers a seat still works on its run."""
    return and_(runs.c.holder == seats.c.holder, runs.c.heartbeat_at >= at - SILENCE)


def _channel(name: str) -> str:
    return f"mesocosm_{name}"
