"""Login of programs through a browser: the program shows a code, and a person who is signed in confirms it."""

import secrets
import time
from dataclasses import dataclass, field

from mesocosm.server.auth.sign_ins import fingerprint
from mesocosm.server.refusal import Refusal
from mesocosm.server.web.client_address import counted
from mesocosm.store import Store
from mesocosm.store.device_logins import DeviceLogin, DeviceState, Poll
from mesocosm.store.users import User

INTERVAL_S = 5
"""Seconds between two questions of a program."""

_LASTS_S = 600.0
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""Letters of codes that people type: no vowels, so no words; nothing that looks like a digit."""
_HALF = 4
_STRETCH = 900.0
_STARTS = 100
"""Maximum number of logins that one address may start in `_STRETCH` seconds."""
_GUESSES = 10
"""Maximum number of wrong codes of one account in `_STRETCH` seconds; of one address five times as many."""
_SLACK_S = 1.0
"""A program may ask this much earlier than told: its clock and the network are not ours."""
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class DeviceCodes:
    """The codes of a new login: `device_code` is known to the program alone, `user_code` is shown to the person."""

    device_code: str = field(repr=False)
    user_code: str
    expires_at: float


class DeviceFlow:
    """Logins of programs that people confirm in a browser."""

    def __init__(self, store: Store) -> None:
        self._logins = store.device_logins
        self._rate_limits = store.rate_limits

    def start(self, program: str, device: str, address: str) -> DeviceCodes:
        """Start a login of a program that calls itself `program`, on `device`. Raises Refusal 429 for too many."""
        self._count({f"device:{counted(address)}": _STARTS}, "too many programs log in from this address")
        now = time.time()
        login = DeviceLogin(_shown(program), _shown(device), address, now, now + _LASTS_S)
        while True:
            letters = "".join(secrets.choice(_LETTERS) for _ in range(2 * _HALF))
            codes = DeviceCodes(secrets.token_urlsafe(32), f"{letters[:_HALF]}-{letters[_HALF:]}", login.expires_at)
            if self._logins.add(login, fingerprint(codes.device_code), _code_digest(codes.user_code)):
                return codes

    def find(self, user_code: str, user: User, address: str) -> DeviceLogin:
        """Return the login that waits for this code.

        Raises Refusal: 404 if there is none, 429 after too many wrong codes of this user or address.
        """
        guesses = {
            f"device-code:{user.actor}": _GUESSES,
            f"device-code:{counted(address)}": 5 * _GUESSES,
        }
        self._count(guesses, "too many wrong codes")
        found = self._logins.waiting(_code_digest(user_code))
        if found is None:
            raise _unknown()
        self._rate_limits.take_back(guesses, _STRETCH)
        return found

    def decide(self, user_code: str, user: User, address: str, *, approve: bool) -> DeviceLogin:
        """Approve or deny the login that waits for this code as `user`, and return it. Raises Refusal as `find`."""
        found = self.find(user_code, user, address)
        state = DeviceState.APPROVED if approve else DeviceState.DENIED
        if not self._logins.decide(_code_digest(user_code), user, state):
            raise _unknown()
        return found

    def poll(self, device_code: str) -> Poll:
        """Return the state of a login by the code of the program; one that was decided is returned once."""
        return self._logins.poll(fingerprint(device_code), INTERVAL_S - _SLACK_S)

    def _count(self, limits: dict[str, int], words: str) -> None:
        if wait := self._rate_limits.allow_all(limits, _STRETCH):
            raise Refusal(429, f"{words}; wait, then try again", headers={"Retry-After": str(int(wait) + 1)})


def _code_digest(user_code: str) -> str:
    """Return the digest of a code as a person types it: in small letters, with or without the hyphen."""
    return fingerprint("".join(filter(str.isalnum, user_code.upper())))


def _shown(text: str) -> str:
    """Return a text of a program, without what could disguise it on a page."""
    return "".join(filter(str.isprintable, text)).strip()[:_LONGEST]


def _unknown() -> Refusal:
    return Refusal(
        404, "no program waits for this code: it is mistyped, used, or older than ten minutes; start the login again"
    )
