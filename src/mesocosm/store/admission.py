"""Admission of runs: check and spend cooldown, quota and queue slots in the transaction that stores the run."""

import time
from datetime import UTC, datetime
from enum import StrEnum

import msgspec
from sqlalchemy import Connection, func, select

from mesocosm.core.ids import digest
from mesocosm.core.run import Run
from mesocosm.store.database import Database
from mesocosm.store.rows import plain
from mesocosm.store.run_index import insert_run
from mesocosm.store.run_requests import OPEN, RunRequest, insert_request
from mesocosm.store.schema import runs
from mesocosm.store.tenancy import attempts, cooldowns, requests

_DAY = 86_400


class AdmissionTerms(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on runs of an actor: seconds between two, runs per UTC day, runs queued or running (None: no limit)."""

    cooldown_s: float = 0.0
    per_day: int | None = None
    waiting: int | None = None


class Bound(StrEnum):
    """The limit that rejects a run."""

    COOLDOWN = "cooldown"
    QUOTA = "quota"
    QUEUE = "queue"


class Denial(msgspec.Struct, frozen=True):
    """Why a run was rejected, and after how many seconds it would be accepted (0: depends on other runs)."""

    bound: Bound
    seconds: float = 0.0


class Allowance(msgspec.Struct, frozen=True):
    """How much of its limits an actor has used: runs today, runs queued or running, seconds of cooldown left."""

    today: int = 0
    waiting: int = 0
    cooldown_s: float = 0.0


class Admission:
    """Admits runs within the limits of their actor."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def left(self, actor: str, terms: AdmissionTerms) -> Allowance:
        """Return how much of its limits an actor has used; `cooldown_s` is 0 if `terms` have no cooldown."""

        def work(connection: Connection) -> Allowance:
            now = time.time()
            return Allowance(
                _today(connection, actor, now), _open(connection, actor), _cooldown(connection, actor, now)
            )

        used = self._database.read(work)
        return used if terms.cooldown_s else msgspec.structs.replace(used, cooldown_s=0.0)

    def check(self, actor: str, terms: AdmissionTerms) -> Denial | None:
        """Return the limit that would reject a run of an actor now, None if it would be accepted. Spends nothing."""
        return self._database.read(lambda connection: _denial(connection, actor, terms, time.time()))

    def admit(self, order: RunRequest, run: Run, terms: AdmissionTerms) -> Denial | None:
        """Store a run with its request and spend the quota and cooldown of its actor.

        Otherwise return why it was denied. Repeating the call for a stored request changes nothing and returns None.
        """

        def work(connection: Connection) -> Denial | None:
            if self._database.postgres:
                # Two concurrent requests must not both take the last free slot.
                for key in (f"orders:{order.actor}", run.signature):
                    connection.execute(select(func.pg_advisory_xact_lock(int(digest(key)[:15], 16))))
            if connection.scalar(select(requests.c.run_id).where(requests.c.run_id == order.run_id)) is not None:
                return None
            now = time.time()
            denial = _denial(connection, order.actor, terms, now)
            if denial is not None:
                return denial
            self._spend(connection, order.actor, terms, now)
            last = connection.scalar(select(func.max(runs.c.attempt)).where(runs.c.signature == run.signature))
            run.attempt = (last or 0) + 1
            insert_run(self._database, connection, run)
            insert_request(connection, order)
            return None

        return self._database.write(work)

    def _spend(self, connection: Connection, actor: str, terms: AdmissionTerms, now: float) -> None:
        if terms.cooldown_s:
            until = self._database.insert(cooldowns).values(actor=actor, until=now + terms.cooldown_s)
            new = {"until": until.excluded.until}
            connection.execute(until.on_conflict_do_update(index_elements=["actor"], set_=new))
        if terms.per_day is not None:
            day = int(now // _DAY)
            one = {"key": _key(actor), "stretch": day, "count": 1, "until": float((day + 2) * _DAY)}
            counted = self._database.insert(attempts).values(one)
            more = {"count": attempts.c.count + 1}
            connection.execute(counted.on_conflict_do_update(index_elements=["key", "stretch"], set_=more))


def _denial(connection: Connection, actor: str, terms: AdmissionTerms, now: float) -> Denial | None:
    if terms.per_day is not None and _today(connection, actor, now) >= terms.per_day:
        return Denial(Bound.QUOTA, (now // _DAY + 1) * _DAY - now)
    if terms.waiting is not None and _open(connection, actor) >= terms.waiting:
        return Denial(Bound.QUEUE)
    if terms.cooldown_s:
        seconds = _cooldown(connection, actor, now)
        if seconds > 0:
            return Denial(Bound.COOLDOWN, seconds)
    return None


def _today(connection: Connection, actor: str, now: float) -> int:
    day = int(now // _DAY)
    today = select(attempts.c.count).where(attempts.c.key == _key(actor), attempts.c.stretch == day)
    return connection.scalar(today) or 0


def _open(connection: Connection, actor: str) -> int:
    mine = select(func.count()).select_from(requests).where(requests.c.actor == actor, requests.c.state.in_(OPEN))
    return connection.scalar(mine) or 0


def _cooldown(connection: Connection, actor: str, now: float) -> float:
    until = connection.scalar(select(cooldowns.c.until).where(cooldowns.c.actor == actor))
    return max(until - now, 0.0) if until is not None else 0.0


def _key(actor: str) -> str:
    return f"runs:{plain(actor)}"


def midnight(now: float) -> str:
    """Return the start of the next UTC day in ISO 8601, to the minute."""
    return datetime.fromtimestamp((now // _DAY + 1) * _DAY, UTC).isoformat(timespec="minutes")
