"""Sign-ins: sessions of browsers, and refresh tokens of programs."""

import hashlib
import secrets

import msgspec

from mesocosm.server.refusal import Refusal
from mesocosm.server.settings import Settings
from mesocosm.store.sessions import REFRESH, WEB, Session, Sessions, Use
from mesocosm.store.users import User, Users

REFRESH_PREFIX = "mcr_"
TOKEN_PREFIX = "mct_"  # noqa: S105
"""Prefix of personal tokens, by which secret scanners detect leaked ones."""


class SignIn(msgspec.Struct, frozen=True):
    """A sign-in of a browser, and its user."""

    session: Session
    user: User


class TokenReused(Refusal):
    """A refresh token of `user_id` was used twice, so one of the two uses was by a thief."""

    def __init__(self, user_id: int) -> None:
        super().__init__(401, "this refresh token was used before, so all of its sign-in has ended; sign in again")
        self.user_id = user_id


class SignIns:
    """Sign-ins of members. Their secrets are random (256 bits); the store contains only digests."""

    def __init__(self, sessions: Sessions, users: Users, settings: Settings) -> None:
        self._sessions = sessions
        self._users = users
        self._days = settings.refresh_days

    def start_web(self, user: User, label: str = "") -> str:
        """Sign a browser in and return the value of its cookie. Raises Refusal 401 if all sign-ins have just ended."""
        return self._start(user, WEB, secrets.token_urlsafe(32), label)[1]

    def _start(self, user: User, kind: str, secret: str, label: str) -> tuple[str, str]:
        session = self._sessions.start(user, kind, fingerprint(secret), self._days, label[:200])
        if session is None:
            raise Refusal(401, "all sign-ins of this account were ended just now; sign in again")
        return session.family, secret

    def web(self, secret: str) -> SignIn | None:
        """Return the sign-in of a browser by its cookie; None if it has ended or its user is disabled or deleted."""
        session = self._sessions.find(fingerprint(secret), WEB)
        user = None if session is None else self._users.get(session.user_id)
        return None if session is None or user is None or user.disabled else SignIn(session, user)

    def start_refresh(self, user: User, label: str = "") -> tuple[str, str]:
        """Start a sign-in of a program; return its chain and its refresh token, which can be exchanged once.

        Raises Refusal 401 if all sign-ins have just ended.
        """
        return self._start(user, REFRESH, REFRESH_PREFIX + secrets.token_urlsafe(32), label)

    def refresh(self, secret: str) -> tuple[User, str, str]:
        """Exchange a refresh token: return its user, its chain, and the next refresh token.

        Raises TokenReused if it was used before, which ends all tokens of the same sign-in; Refusal: 401 if it is not
        valid, 403 for a disabled account.
        """
        successor = REFRESH_PREFIX + secrets.token_urlsafe(32)
        use, session = self._sessions.renew(fingerprint(secret), fingerprint(successor), self._days)
        if use is Use.REUSED and session is not None:
            raise TokenReused(session.user_id)
        if use is not Use.RENEWED or session is None:
            raise Refusal(401, "this refresh token is not valid any more; sign in again")
        user = self._users.get(session.user_id)
        if user is None or user.disabled:
            self._sessions.end(session)
            raise Refusal(403, "this account is disabled; ask an administrator")
        return user, session.family, successor

    def end(self, secret: str, kind: str) -> None:
        """End the sign-in of a browser (`kind` WEB) or of a refresh token (REFRESH). An unknown secret is ignored."""
        session = self._sessions.find(fingerprint(secret), kind)
        if session is not None:
            self._sessions.end(session)


def fingerprint(secret: str) -> str:
    """Return the digest under which a random secret is stored (SHA-256, hexadecimal)."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
