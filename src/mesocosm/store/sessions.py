"""Sign-in sessions: browsers and refresh tokens; also the keys that sign tokens."""

import secrets
import time
from enum import StrEnum

import msgspec
from sqlalchemy import ColumnElement, Connection, RowMapping, delete, func, insert, select, update

from mesocosm.core.ids import new_id
from mesocosm.store.database import Database
from mesocosm.store.rows import plain, record_of, values_of
from mesocosm.store.tenancy import sessions, signing_keys, users
from mesocosm.store.users import User

WEB, REFRESH = "web", "refresh"


class Session(msgspec.Struct, frozen=True):
    """A signed-in browser (`web`) or a refresh token; times in UNIX seconds.

    A refresh token is used once (`used_at`) and replaced by another of its `family`.
    """

    id: str
    user_id: int
    kind: str
    family: str
    label: str
    created_at: float
    expires_at: float
    used_at: float | None = None
    ended_at: float | None = None

    @property
    def open(self) -> bool:
        """Whether it can still be used."""
        return self.used_at is None and self.ended_at is None and self.expires_at > time.time()


class Use(StrEnum):
    """Result of exchanging a refresh token."""

    RENEWED = "renewed"
    REUSED = "reused"
    UNKNOWN = "unknown"


class Sessions:
    """Sign-in sessions; only digests of their secrets are stored."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def start(self, user: User, kind: str, digest: str, days: float, label: str = "") -> Session | None:
        """Add a session that lasts `days` days; None if all sessions of the user were ended after `user` was read."""
        now, name = time.time(), new_id()
        session = Session(name, user.id, kind, name, plain(label), now, now + days * 86_400)

        def work(connection: Connection) -> bool:
            if _epoch(connection, user.id) != user.epoch:
                return False
            known = connection.scalar(select(sessions.c.id).where(sessions.c.id == session.id))
            if known is None:
                connection.execute(insert(sessions).values(values_of(session, digest=digest)))
            return True

        return session if self._database.write(work) else None

    def find(self, digest: str, kind: str) -> Session | None:
        """Return the open session with this digest and kind, None if there is none."""
        wanted = select(sessions).where(sessions.c.digest == digest, sessions.c.kind == kind)
        row = self._database.one(wanted)
        session = None if row is None else _session(row)
        return session if session is not None and session.open else None

    def renew(self, digest: str, successor: str, days: float) -> tuple[Use, Session | None]:
        """Exchange a refresh token for the one with digest `successor`, valid for `days` days.

        A token that was used before may be stolen, so it ends its whole family. Return the result with the new session,
        or with the old one if it was not renewed (None if it is unknown).
        """
        now, name = time.time(), new_id()

        def work(connection: Connection) -> tuple[Use, Session | None]:
            mine = (sessions.c.digest == digest, sessions.c.kind == REFRESH)
            user_id = connection.scalar(select(sessions.c.user_id).where(*mine))
            if user_id is None:
                return Use.UNKNOWN, None
            _epoch(connection, user_id)
            row = connection.execute(select(sessions).where(*mine)).mappings().one()
            old = _session(row)
            # A repeated transaction finds the row that its first attempt added.
            again = connection.execute(select(sessions).where(sessions.c.id == name)).mappings().first()
            if again is not None:
                return Use.RENEWED, _session(again)
            if old.used_at is not None:
                _end(connection, sessions.c.family == old.family)
                return Use.REUSED, old
            if not old.open:
                return Use.UNKNOWN, old
            new = Session(name, old.user_id, REFRESH, old.family, old.label, now, now + days * 86_400)
            connection.execute(update(sessions).where(sessions.c.id == old.id).values(used_at=now))
            connection.execute(insert(sessions).values(values_of(new, digest=successor)))
            return Use.RENEWED, new

        return self._database.write(work)

    def of(self, user_id: int, *, limit: int = 100) -> tuple[tuple[Session, float], ...]:
        """Return a user's open sessions, newest first, each with the UNIX time when its family began."""
        began = select(sessions.c.family, func.min(sessions.c.created_at).label("began"))
        first = began.where(sessions.c.user_id == user_id).group_by(sessions.c.family).subquery()
        wanted = (
            select(sessions, first.c.began)
            .join(first, first.c.family == sessions.c.family)
            .where(sessions.c.user_id == user_id, sessions.c.used_at.is_(None), sessions.c.ended_at.is_(None))
            .where(sessions.c.expires_at > time.time())
            .order_by(sessions.c.created_at.desc(), sessions.c.id.desc())
            .limit(limit)
        )
        rows = self._database.all(wanted)
        return tuple((_session(row), float(row["began"])) for row in rows)

    def stands(self, user_id: int, family: str) -> bool:
        """Return whether a session family of a user is open."""
        theirs = (sessions.c.user_id == user_id, sessions.c.family == plain(family), sessions.c.used_at.is_(None))
        wanted = select(sessions.c.id).where(*theirs, sessions.c.ended_at.is_(None))
        wanted = wanted.where(sessions.c.expires_at > time.time()).limit(1)
        return self._database.scalar(wanted) is not None

    def end_family(self, user_id: int, family: str) -> bool:
        """End a session family of a user; return whether it was open."""
        theirs = (sessions.c.user_id == user_id) & (sessions.c.family == plain(family))

        def work(connection: Connection) -> bool:
            _epoch(connection, user_id)
            return _end(connection, theirs) > 0

        return self._database.write(work)

    def end(self, session: Session) -> None:
        """End a session with its whole family."""
        self.end_family(session.user_id, session.family)

    def end_all(self, user_id: int, *, but: str = "") -> None:
        """End all sessions of a user except the one with id `but`."""

        def work(connection: Connection) -> None:
            _epoch(connection, user_id)
            _end(connection, (sessions.c.user_id == user_id) & (sessions.c.id != but))

        self._database.write(work)

    def remove_expired(self, before: float) -> int:
        """Delete sessions that expired before a UNIX time; return how many."""
        gone = delete(sessions).where(sessions.c.expires_at < before)
        return self._database.execute(gone)


def _epoch(connection: Connection, user_id: int) -> int | None:
    """Return the epoch of a user, and lock their sessions until this transaction ends."""
    return connection.scalar(select(users.c.epoch).where(users.c.id == user_id).with_for_update())


def _end(connection: Connection, condition: ColumnElement[bool]) -> int:
    standing = sessions.c.ended_at.is_(None)
    return connection.execute(update(sessions).where(condition, standing).values(ended_at=time.time())).rowcount


def _session(row: RowMapping) -> Session:
    return record_of(Session, row)


class SigningKey(msgspec.Struct, frozen=True):
    """A secret that signs tokens; times in UNIX seconds. Tokens signed with it are invalid from `retired_at` on."""

    id: str
    secret: str
    created_at: float
    retired_at: float | None

    def __repr__(self) -> str:
        return f"SigningKey(id={self.id!r})"


class SigningKeys:
    """The keys that sign tokens."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def valid(self) -> tuple[SigningKey, ...]:
        """Return the keys that are not retired, newest first; the newest one signs.

        Create the first key if there is none.
        """
        found = self._database.read(_valid_keys)
        return found or self._database.write(lambda connection: _valid_keys(connection) or (_make_key(connection),))

    def rotate(self, retire_after: float) -> SigningKey:
        """Create the key that signs from now on; older keys stay valid for `retire_after` seconds."""
        key = _new_key()

        def work(connection: Connection) -> SigningKey:
            at = key.created_at + retire_after
            older = (
                signing_keys.c.id != key.id,
                signing_keys.c.retired_at.is_(None) | (signing_keys.c.retired_at > at),
            )
            connection.execute(update(signing_keys).where(*older).values(retired_at=at))
            if connection.scalar(select(signing_keys.c.id).where(signing_keys.c.id == key.id)) is None:
                _make_key(connection, key)
            return key

        return self._database.write(work)


def _new_key() -> SigningKey:
    return SigningKey(new_id(), secrets.token_urlsafe(48), time.time(), None)


def _make_key(connection: Connection, key: SigningKey | None = None) -> SigningKey:
    key = key or _new_key()
    connection.execute(insert(signing_keys).values(msgspec.structs.asdict(key)))
    return key


def _valid_keys(connection: Connection) -> tuple[SigningKey, ...]:
    standing = signing_keys.c.retired_at.is_(None) | (signing_keys.c.retired_at > time.time())
    wanted = select(signing_keys).where(standing).order_by(signing_keys.c.id.desc())
    return tuple(SigningKey(**row) for row in connection.execute(wanted).mappings())
