"""Personal access tokens, for scripts."""

import time

import msgspec
from sqlalchemy import RowMapping, delete, func, select, update

from mesocosm.core.ids import new_id
from mesocosm.store.database import Database
from mesocosm.store.rows import plain, record_of, values_of
from mesocosm.store.tenancy import personal_tokens
from mesocosm.store.users import LARGEST_ID

_FRESH = 60.0
"""Minimum seconds between two updates of a token's last use."""


class PersonalToken(msgspec.Struct, frozen=True):
    """A personal access token; times in UNIX seconds.

    `scope` is `read` or `write`; it never expires without `expires_at`.
    """

    id: str
    user_id: int
    name: str
    scope: str
    created_at: float
    expires_at: float | None = None
    last_used_at: float | None = None

    @property
    def expired(self) -> bool:
        """Whether it has expired."""
        return self.expires_at is not None and self.expires_at <= time.time()


class PersonalTokens:
    """Personal access tokens; only their digests are stored."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, user_id: int, name: str, scope: str, digest: str, expires_at: float | None) -> PersonalToken:
        """Add a token by its digest and return it."""
        token = PersonalToken(new_id(), user_id, plain(name), scope, time.time(), expires_at)
        values = values_of(token, digest=digest)
        row = self._database.insert(personal_tokens).values(values).on_conflict_do_nothing()
        self._database.execute(row)
        return token

    def of(self, user_id: int) -> tuple[PersonalToken, ...]:
        """Return a user's tokens, newest first."""
        if not 0 <= user_id <= LARGEST_ID:
            return ()
        wanted = (
            select(personal_tokens).where(personal_tokens.c.user_id == user_id).order_by(personal_tokens.c.id.desc())
        )
        return tuple(map(_token, self._database.all(wanted)))

    def count(self, user_id: int) -> int:
        """Return the number of tokens of a user."""
        wanted = select(func.count()).where(personal_tokens.c.user_id == user_id)
        return self._database.scalar(wanted) or 0

    def find(self, digest: str) -> PersonalToken | None:
        """Return the token with this digest, expired or not; None if there is none."""
        wanted = select(personal_tokens).where(personal_tokens.c.digest == digest)
        row = self._database.one(wanted)
        return None if row is None else _token(row)

    def used(self, token: PersonalToken) -> None:
        """Record that a token was used, at most once a minute."""
        now = time.time()
        if token.last_used_at is not None and now - token.last_used_at < _FRESH:
            return
        change = update(personal_tokens).where(personal_tokens.c.id == token.id).values(last_used_at=now)
        self._database.execute(change)

    def remove(self, user_id: int, token_id: str) -> bool:
        """Delete a token of a user; return whether it existed."""
        gone = delete(personal_tokens).where(
            personal_tokens.c.id == plain(token_id), personal_tokens.c.user_id == user_id
        )
        return self._database.execute(gone) > 0

    def remove_all(self, user_id: int) -> None:
        """Delete all tokens of a user."""
        gone = delete(personal_tokens).where(personal_tokens.c.user_id == user_id)
        self._database.execute(gone)


def _token(row: RowMapping) -> PersonalToken:
    return record_of(PersonalToken, row)
