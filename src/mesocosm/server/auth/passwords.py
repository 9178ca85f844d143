"""Passwords: which may be chosen, and keeping them as Argon2id (RFC 9106)."""

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from mesocosm.server.auth.common_passwords import COMMON
from mesocosm.server.refusal import Refusal

if TYPE_CHECKING:
    from pwdlib import PasswordHash

SHORTEST, LONGEST = 8, 256
"""Characters of a password (NIST SP 800-63B asks for at least eight, and to take long ones)."""

MEMORY_KIB, PASSES, LANES = 65_536, 3, 4
"""What one hash costs (the second recommendation of RFC 9106): some 60 ms and 64 MB."""

AT_ONCE, IN_ALL = 2, 6
"""Passwords that are hashed at once, and those hashed or waiting for it.

Every one holds a thread of the server: logins alone shall not take all of them.
"""

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


class Passwords:
    """Hashes and checks passwords, few at once."""

    def __init__(self) -> None:
        self._running = threading.BoundedSemaphore(AT_ONCE)
        self._waiting = threading.BoundedSemaphore(IN_ALL)

    @cached_property
    def _hasher(self) -> "PasswordHash":
        from pwdlib import PasswordHash
        from pwdlib.hashers.argon2 import Argon2Hasher

        return PasswordHash((Argon2Hasher(time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=LANES),))

    @cached_property
    def _nobodys(self) -> str:
        return self._hasher.hash(secrets.token_urlsafe(16))

    def hash(self, password: str) -> str:
        """Return the hash of a password. Raises Refusal 503 when too many are being worked on."""
        with self._turn():
            return self._hasher.hash(_bytes(password))

    def right(self, password: str, kept: str) -> bool:
        """Return whether this is the password; with nothing kept it takes the same time and never is.

        Raises Refusal 503 when too many are being worked on.
        """
        if len(password) > LONGEST:
            return False
        with self._turn():
            found = self._hasher.verify(_bytes(password), kept or self._nobodys)
        return found and bool(kept)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._waiting.acquire(blocking=False):
            raise Refusal(503, "too many are signing in at this moment; try again", headers={"Retry-After": "1"})
        try:
            with self._running:
                yield
        finally:
            self._waiting.release()


def check_choice(password: str, username: str) -> None:
    """Raise Refusal 422 when a password is easy to guess."""
    if len(password) < SHORTEST:
        raise Refusal(422, f"the password is too short; choose one of at least {SHORTEST} characters")
    if len(password) > LONGEST:
        raise Refusal(422, f"the password is longer than {LONGEST} characters; choose a shorter one")
    plain = password.casefold()
    if plain in COMMON or plain.rstrip("0123456789!?.") in COMMON or len(set(plain)) < 4:
        raise Refusal(422, "this password is among the first that anybody would guess; choose another")
    if any(len(_beside(plain, name)) < 6 for name in _names(username) if name in plain):
        raise Refusal(422, "the password is little more than the user name; choose another")


def _names(username: str) -> set[str]:
    """Return what a password may not be made of: a name, its part before an @, both forwards and backwards."""
    name = username.casefold()
    known = {name, name.partition("@")[0], "".join(filter(str.isalnum, name))}
    return {way for one in known if len(one) > 2 for way in (one, one[::-1])}


def _beside(password: str, name: str) -> str:
    """Return what a password has beside a name, however often that is in it."""
    return password.replace(name, "").replace(name[::-1], "")


def generated() -> str:
    """Return a password that cannot be guessed (98 bits) and is easy to type."""
    return "-".join("".join(secrets.choice(_LETTERS) for _ in range(5)) for _ in range(4))


def _bytes(password: str) -> bytes:
    # Lone surrogates of JSON have no UTF-8 form.
    return password.encode("utf-8", "surrogatepass")
