"""Users with an account, and guests without one."""

import time
from dataclasses import dataclass, field, fields

import msgspec
from sqlalchemy import ColumnElement, Connection, RowMapping, delete, func, insert, select, update

from mesocosm.core.failure import UsageError
from mesocosm.core.ids import new_id
from mesocosm.store.database import Database
from mesocosm.store.rows import plain
from mesocosm.store.tenancy import guests, users

LARGEST_ID = 2**31 - 1
"""The largest possible user id."""


class NameTaken(UsageError):
    """The user name, or the identity at a provider, is already taken."""


@dataclass(frozen=True, slots=True)
class User:
    """A user; times in UNIX seconds.

    `password` is an Argon2id hash, empty for users who sign in by OIDC with `subject` ("issuer subject"). Tokens with
    another `epoch` are invalid. `budget_usd` is per 24 hours, None for the server's default.
    """

    id: int
    username: str
    role: str
    disabled: bool
    epoch: int
    created_at: float
    budget_usd: float | None = None
    last_login_at: float | None = None
    subject: str | None = None
    password: str = field(default="", repr=False)

    @property
    def actor(self) -> str:
        """The identifier of the user in the store: `user:ID`."""
        return f"user:{self.id}"


class Users:
    """Users with an account."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, username: str, *, password_hash: str = "", role: str = "member", subject: str | None = None) -> User:
        """Add a user and return it. Raises NameTaken."""
        username, now = plain(username), time.time()
        values: dict[str, object] = {
            "username": username,
            "name_key": username.casefold(),
            "password": password_hash,
            "subject": subject,
        }
        values |= {"role": role, "disabled": False, "epoch": 0, "created_at": now}

        def work(connection: Connection) -> User | None:
            connection.execute(self._database.insert(users).values(values).on_conflict_do_nothing())
            found = _first(connection, users.c.name_key == values["name_key"])
            # A repeated transaction finds the row that its first attempt added.
            ours = found is not None and (found.created_at, found.password, found.subject) == (
                now,
                password_hash,
                subject,
            )
            return found if ours else None

        user = self._database.write(work)
        if user is None:
            raise NameTaken(f"the name {username!r} is taken; choose another")
        return user

    def get(self, user_id: int) -> User | None:
        """Return a user by id; None if there is none."""
        if not 0 <= user_id <= LARGEST_ID:
            return None
        return self._database.query(lambda connection: _first(connection, users.c.id == user_id))

    def named(self, username: str) -> User | None:
        """Return a user by name, ignoring case; None if there is none."""
        key = plain(username).casefold()
        return self._database.query(lambda connection: _first(connection, users.c.name_key == key))

    def by_subject(self, subject: str) -> User | None:
        """Return the user with this OIDC identity; None if there is none."""
        return self._database.query(lambda connection: _first(connection, users.c.subject == plain(subject)))

    def count(self) -> int:
        """Return the number of users."""
        return self._database.scalar(select(func.count()).select_from(users)) or 0

    def count_admins(self) -> int:
        """Return the number of enabled administrators."""
        wanted = select(func.count()).where(users.c.role == "admin", users.c.disabled.is_(False))
        return self._database.scalar(wanted) or 0

    def list(self, *, limit: int = 100, cursor: int | None = None) -> tuple[User, ...]:
        """Return users, newest first; `cursor` is the id of the last one of the previous page."""
        wanted = select(users).order_by(users.c.id.desc()).limit(limit)
        if cursor is not None:
            wanted = wanted.where(users.c.id < min(max(cursor, 0), LARGEST_ID))
        return tuple(map(_user, self._database.all(wanted)))

    def set_role(self, user_id: int, role: str) -> None:
        """Set the role of a user: `admin` or `member`."""
        self._set(user_id, role=role)

    def set_disabled(self, user_id: int, *, disabled: bool) -> None:
        """Disable or enable an account."""
        self._set(user_id, disabled=disabled)

    def set_password(self, user_id: int, password_hash: str) -> None:
        """Store another password hash."""
        self._set(user_id, password=password_hash)

    def set_budget(self, user_id: int, budget_usd: float | None) -> None:
        """Set what a user may spend in 24 hours; None for the server's default."""
        self._set(user_id, budget_usd=budget_usd)

    def signed_in(self, user_id: int) -> None:
        """Record that a user has just signed in."""
        self._set(user_id, last_login_at=time.time())

    def set_epoch(self, user_id: int, epoch: int) -> None:
        """Set the epoch of a user, which invalidates all tokens with another one."""
        self._set(user_id, epoch=epoch)

    def _set(self, user_id: int, **values: object) -> None:
        change = update(users).where(users.c.id == user_id).values(**values)
        self._database.execute(change)


def _first(connection: Connection, condition: ColumnElement[bool]) -> User | None:
    row = connection.execute(select(users).where(condition)).mappings().first()
    return None if row is None else _user(row)


def _user(row: RowMapping) -> User:
    return User(**{name: row[name] for name in (field.name for field in fields(User))})


class Guest(msgspec.Struct, frozen=True):
    """A person without an account; times in UNIX seconds. `ended_at` is None until they leave."""

    id: str
    created_at: float
    expires_at: float
    ended_at: float | None
    address: str


class Guests:
    """People without an account, for a limited number of days."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, address: str, days: float) -> Guest:
        """Add a guest from network address `address`, for `days` days."""
        now = time.time()
        guest = Guest(new_id(), now, now + days * 86_400, None, plain(address))
        row = insert(guests).values(msgspec.structs.asdict(guest))

        def work(connection: Connection) -> None:
            # When repeated after an unnoticed commit, the row already exists.
            connection.execute(delete(guests).where(guests.c.id == guest.id))
            connection.execute(row)

        self._database.write(work)
        return guest

    def get(self, guest_id: str) -> Guest | None:
        """Return a guest; None if there is none."""
        wanted = select(guests).where(guests.c.id == plain(guest_id))
        row = self._database.one(wanted)
        return None if row is None else Guest(**row)

    def end(self, guest_id: str) -> None:
        """End a guest's stay."""
        change = (
            update(guests)
            .where(guests.c.id == plain(guest_id), guests.c.ended_at.is_(None))
            .values(ended_at=time.time())
        )
        self._database.execute(change)

    def remove_expired(self, before: float) -> int:
        """Delete guests who expired before a UNIX time; return how many."""
        gone = delete(guests).where(guests.c.expires_at < before)
        return self._database.execute(gone)
