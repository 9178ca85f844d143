"""Accounts: create users and guests, check passwords, authenticate callers."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fastapi import Request

from mesocosm.core.failure import MesocosmError
from mesocosm.server.auth.device_flow import DeviceFlow
from mesocosm.server.auth.passwords import Passwords, check_choice
from mesocosm.server.auth.principal import NOBODY, Principal, Role
from mesocosm.server.auth.recognition import Recognition
from mesocosm.server.auth.sign_ins import SignIns, fingerprint
from mesocosm.server.auth.token_signing import Signer
from mesocosm.server.refusal import Refusal
from mesocosm.server.settings import Settings
from mesocosm.server.web.client_address import counted
from mesocosm.store import Store
from mesocosm.store.users import NameTaken, User

GUEST_TYPE = "bench_guest"
"""The claim `type` of guest tokens. Member tokens have no `type`."""

MANY = 5
"""Factor of the login limits per name and per address over the limit per name and address.

With it people who share an address can all sign in, and one client alone cannot lock others out.
"""

_STRETCH = 900.0
_REMEMBERED = 60 * 86_400.0
_MANY_SIGN_INS = 2**30
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")
_WRONG = "wrong user name or password"


@dataclass(frozen=True, slots=True)
class GuestSession:
    """A new guest with their token, which is valid until `expires_at` (UNIX time)."""

    id: str
    token: str = field(repr=False)
    expires_at: float


class Accounts:
    """The accounts of a server."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.settings = settings
        self.users = store.users
        self.guests = store.guests
        self.rate_limits = store.rate_limits
        self.audit = store.audit
        self.passwords = Passwords()
        self.signer = Signer(store.signing_keys)
        self.device_flow = DeviceFlow(store)
        self._sessions = store.sessions
        self.signins = SignIns(store.sessions, self.users, settings)
        self._recognition = Recognition(store, self.signer, self.signins)

    def add_user(self, username: str, password: str, role: str = "member") -> User:
        """Add a user with a password and return them.

        Raises Refusal: 422 for an invalid name, role or password, 409 if the name is taken.
        """
        username = checked_name(username)
        check_choice(password, username)
        if role not in set(Role):
            raise Refusal(422, f"there is no role {role!r}; choose member or admin")
        if self.users.named(username) is not None:
            raise _taken(username)
        try:
            return self.users.add(username, password_hash=self.passwords.hash(password), role=role)
        except NameTaken as error:
            raise _taken(username) from error

    def check_password(self, username: str, password: str, address: str, device: str = "") -> User:
        """Return the user with a name and a password; `device` is the secret of a browser that signed in before.

        Takes the same time for unknown names. Raises Refusal: 401 for a wrong name or password, 403 for a disabled
        account, 429 after too many wrong passwords, 503 if too many users are signing in.
        """
        user = self.users.named(username)
        with self._try(username, address, device):
            if not self.passwords.right(password, user.password if user is not None else "") or user is None:
                # Do not record the typed name: it may be a password. Record unknown names too, so that timing does
                # not reveal which names exist.
                known = user.actor if user is not None else "user:unknown"
                self.audit.note("anonymous", "auth.wrong", known, address=address)
                raise Refusal(401, _WRONG)
        if user.disabled:
            raise Refusal(403, "this account is disabled; ask an administrator")
        self.users.signed_in(user.id)
        return user

    @contextmanager
    def _try(self, username: str, address: str, device: str) -> Iterator[None]:
        """Count a login attempt, and uncount it unless the password was wrong (Refusal 401).

        Others can use up the attempts of a name or an address. A browser or an address from which this user signed in
        before has a separate limit.
        """
        name, place = username.casefold(), counted(address)
        tries = self.settings.login_tries
        limits = {
            f"login:{place}:{name}": tries,
            f"login:name:{name}": MANY * tries,
            f"login:address:{place}": MANY * tries,
        }
        if self.rate_limits.allow_all(limits, _STRETCH):
            own = self._own_tries(name, place, device)
            limits = {own: tries} if own else limits
            self._allow(limits, _STRETCH, "too many wrong passwords; wait, then try again")
        try:
            yield
        except Refusal as refusal:
            if refusal.status != 401:
                self.rate_limits.take_back(limits, _STRETCH)
            raise
        self.rate_limits.take_back(limits, _STRETCH)

    def _own_tries(self, name: str, place: str, device: str) -> str:
        """Return the rate limit key of a known browser or address; empty if neither is known."""
        if device and self.rate_limits.any_of([_from(name, f"device:{fingerprint(device)}")], _REMEMBERED):
            return f"login:device:{fingerprint(device)}:{name}"
        return f"login:known:{place}:{name}" if self.rate_limits.any_of([_from(name, place)], _REMEMBERED) else ""

    def remember_place(self, user: User, address: str, device: str) -> None:
        """Remember the address and browser of a successful sign-in, so that others cannot lock the user out there."""
        name = user.username.casefold()
        for place in (counted(address), f"device:{fingerprint(device)}"):
            self.rate_limits.allow(_from(name, place), _MANY_SIGN_INS, _REMEMBERED)

    def _allow(self, limits: dict[str, int], seconds: float, words: str) -> None:
        wait = self.rate_limits.allow_all(limits, seconds)
        if wait:
            raise Refusal(429, words, headers={"Retry-After": str(int(wait) + 1)})

    def access_token(self, user: User, chain: str = "") -> str:
        """Return an access token for a user, valid for `token_seconds` or until the sign-in `chain` ends."""
        now = time.time()
        claims = {
            "user_id": user.id,
            "username": user.username,
            "groups": [user.role],
            "epoch": user.epoch,
            "iat": int(now),
            "exp": int(now + self.token_seconds),
        }
        return self.signer.sign({**claims, "chain": chain} if chain else claims)

    @property
    def token_seconds(self) -> float:
        """Lifetime of an access token in seconds."""
        return self.settings.token_minutes * 60

    def new_guest(self, address: str) -> GuestSession:
        """Return a new guest. Raises Refusal: 403 if guests are not allowed, 429 for too many from this address."""
        if not self.settings.guests:
            raise Refusal(403, "this server does not allow guests; sign in with an account")
        limits = {f"guest:{counted(address)}": self.settings.guests_per_hour}
        self._allow(limits, 3600.0, "too many new guests from this address; wait a while")
        guest = self.guests.add(address, self.settings.guest_days)
        claims = {
            "type": GUEST_TYPE,
            "guest_session_id": guest.id,
            "iat": int(guest.created_at),
            "exp": int(guest.expires_at),
        }
        return GuestSession(guest.id, self.signer.sign(claims), guest.expires_at)

    def check_sign_ups(self, address: str) -> None:
        """Count one new account from `address`. Raises Refusal: 403 if sign-up is disabled, 429 for too many."""
        if not self.settings.sign_up:
            raise Refusal(403, "accounts of this server are created by administrators; ask one of them")
        limits = {f"sign-up:{counted(address)}": self.settings.guests_per_hour}
        self._allow(limits, 3600.0, "too many new accounts from this address; wait a while")

    def recognise(self, request: Request) -> Principal:
        """Return the caller, or an anonymous one if authentication fails. Never raises MesocosmError."""
        try:
            return self._recognition.of(request)
        except MesocosmError:
            return NOBODY

    def change_password(self, user: User, password: str) -> User:
        """Change the password of a user, end all their sign-ins, and return the updated user.

        Raises Refusal 422 for a password that is too short, too long or easy to guess.
        """
        check_choice(password, user.username)
        self.users.set_password(user.id, self.passwords.hash(password))
        return self.end_sessions(user)

    def end_sessions(self, user: User) -> User:
        """End all sign-ins and access tokens of a user, and return the updated user."""
        self.users.set_epoch(user.id, user.epoch + 1)
        self._sessions.end_all(user.id)
        return self.users.get(user.id) or user

    def rotate_keys(self, *, at_once: bool = False) -> str:
        """Sign with a new key from now on, and return its id.

        Tokens signed with older keys stay valid until they expire; with `at_once` they become invalid.
        """
        lasting = max(self.token_seconds, self.settings.guest_days * 86_400)
        return self.signer.rotate(0.0 if at_once else lasting).id


def _from(name: str, place: str) -> str:
    return f"signed-in:{place}:{name}"


def checked_name(username: str) -> str:
    """Return a user name without surrounding spaces. Raises Refusal 422 for an invalid one."""
    name = username.strip()
    if _NAME.fullmatch(name) is None:
        raise Refusal(
            422,
            f"{name[:80]!r} cannot be a user name; take 1 to 64 letters, digits and . _ @ + -, "
            "beginning with a letter or digit",
        )
    return name


def _taken(username: str) -> Refusal:
    return Refusal(409, f"the name {username!r} is taken; choose another")
