"""Password rules and password hashing (Argon2id, RFC 9106)."""

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from anyio import CapacityLimiter, to_thread

from mesocosm.server.refusal import Refusal

if TYPE_CHECKING:
    from pwdlib import PasswordHash

SHORTEST, LONGEST = 8, 256
"""Length limits of a password in characters. NIST SP 800-63B requires at least eight, and accepting long ones."""

MEMORY_KIB, PASSES, LANES = 65_536, 3, 4
"""Cost of one hash (second recommended option of RFC 9106): about 60 ms and 64 MiB."""

AT_ONCE, IN_ALL = 2, 6
"""Maximum number of passwords hashed concurrently, and of those being hashed or waiting.

Each occupies a thread of the server, and logins must not occupy all of them.
"""

MAX_WAITING = 24
"""Maximum number of requests waiting for a thread, under 100 ms each. More are refused before clients time out."""

Result = TypeVar("Result")

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


class Passwords:
    """Hashes and checks passwords, at most `AT_ONCE` concurrently."""

    def __init__(self) -> None:
        self._running = threading.BoundedSemaphore(AT_ONCE)
        self._waiting = threading.BoundedSemaphore(IN_ALL)
        self._limiter: CapacityLimiter | None = None

    async def in_turn(self, work: Callable[[], Result]) -> Result:
        """Run `work`, which hashes passwords, in one of a few dedicated threads and return its result.

        Other routes keep their threads. Raises Refusal 503 if too many requests are waiting.
        """
        limiter = self._limiter = self._limiter or CapacityLimiter(AT_ONCE)
        if limiter.statistics().tasks_waiting >= MAX_WAITING:
            raise Refusal(503, "too many are signing in at this moment; try again", headers={"Retry-After": "2"})
        return await to_thread.run_sync(work, limiter=limiter)

    @cached_property
    def _hasher(self) -> "PasswordHash":
        from pwdlib import PasswordHash
        from pwdlib.hashers.argon2 import Argon2Hasher

        return PasswordHash((Argon2Hasher(time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=LANES),))

    @cached_property
    def _dummy_hash(self) -> str:
        return self._hasher.hash(secrets.token_urlsafe(16))

    def hash(self, password: str) -> str:
        """Return the hash of a password. Raises Refusal 503 if too many are being hashed."""
        with self._turn():
            return self._hasher.hash(_bytes(password))

    def right(self, password: str, kept: str) -> bool:
        """Return whether `password` matches the hash `kept`.

        An empty hash never matches, and checking it takes as long. Raises Refusal 503 if too many are being hashed.
        """
        if len(password) > LONGEST:
            return False
        with self._turn():
            found = self._hasher.verify(_bytes(password), kept or self._dummy_hash)
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
    """Raise Refusal 422 for a password that is too short, too long or easy to guess."""
    if len(password) < SHORTEST:
        raise Refusal(422, f"the password is too short; choose one of at least {SHORTEST} characters")
    if len(password) > LONGEST:
        raise Refusal(422, f"the password is longer than {LONGEST} characters; choose a shorter one")
    plain = password.casefold()
    if plain in _COMMON or plain.rstrip("0123456789!?.") in _COMMON or len(set(plain)) < 4:
        raise Refusal(422, "this password is too common; choose another")
    if any(len(_beside(plain, name)) < 6 for name in _names(username) if name in plain):
        raise Refusal(422, "the password is little more than the user name; choose another")


def _names(username: str) -> set[str]:
    """Return the forms of a user name that a password must not consist of: without its mail domain, reversed."""
    name = username.casefold()
    known = {name, name.partition("@")[0], "".join(filter(str.isalnum, name))}
    return {way for one in known if len(one) > 2 for way in (one, one[::-1])}


def _beside(password: str, name: str) -> str:
    """Return a password without all occurrences of a name."""
    return password.replace(name, "").replace(name[::-1], "")


def generated() -> str:
    """Return a password that cannot be guessed (98 bits) and is easy to type."""
    return "-".join("".join(secrets.choice(_LETTERS) for _ in range(5)) for _ in range(4))


def _bytes(password: str) -> bytes:
    # JSON may contain lone surrogates, which strict UTF-8 cannot encode.
    return password.encode("utf-8", "surrogatepass")


_COMMON = frozenset(
    """
    password passw0rd p@ssword p@ssw0rd pa$$word passwort password1 password12 password123 password1234 mypassword
    newpassword passphrase letmein1 letmein123 letmeinnow welcome1 welcome123 welcome1234 changeme changeme1 changeme123
    changeit default1 default123 administrator admin123 admin1234 admin12345 adminadmin root1234 rootroot toor1234
    superuser supervisor sysadmin user1234 useruser guest1234 testtest test1234 test12345 testing1 testing123 demo1234
    demodemo secret12 secret123 topsecret iloveyou iloveyou1 iloveyou2 ilovegod iloveme1 lovelove loveyou1 princess
    princess1 sunshine sunshine1 football football1 baseball baseball1 basketball softball volleyball swimming superman
    superman1 batman123 spiderman starwars startrek pokemon1 pokemon123 minecraft fortnite1 whatever whatever1 trustno1
    dragon12 dragon123 master12 master123 monkey12 monkey123 shadow12 shadow123 michael1 jennifer jordan23 michelle
    charlie1 samantha victoria alexander elizabeth christian christopher hello123 hello1234 hellohello goodbye1 computer
    computer1 internet internet1 samsung1 google123 facebook facebook1 linkedin1 qwertyui qwertyuiop qwerty12 qwerty123
    qwerty1234 qwerty12345 qwertz123 azertyuiop asdfghjk asdfghjkl asdf1234 asdfasdf zxcvbnm1 zxcvbnm123 1qaz2wsx
    1qaz2wsx3edc 1q2w3e4r 1q2w3e4r5t q1w2e3r4 q1w2e3r4t5 qazwsxedc zaq12wsx 12345678 123456789 1234567890 0123456789
    01234567 87654321 987654321 9876543210 11111111 111111111 1111111111 00000000 000000000 22222222 88888888 99999999
    12341234 123123123 12121212 11223344 1122334455 112233445566 12344321 123454321 123321123 147258369 159357456
    98765432 13243546 102030405 abcd1234 abc12345 abc123456 abcdefgh abcdefghi abcdef123 abcabcabc a1b2c3d4 a1b2c3d4e5
    aa123456 aaaaaaaa aaaa1111 asdasdasd qweasdzxc qweqweqwe zxczxczxc blink182 liverpool liverpool1 arsenal1 chelsea1
    barcelona juventus manchester manunited realmadrid mustang1 corvette mercedes porsche1 ferrari1 yamaha12 harley12
    slipknot metallica nirvana1 greenday eminem123 beautiful butterfly blessing blessed1 jesus123 jesuschrist angel123
    babygirl babygirl1 babyboy1 sweetheart sweetie1 chocolate cookie123 banana123 cheese12 pepper12 ginger12 buttercup
    snowball midnight moonlight rainbow1 lightning hurricane mountain thunder1 elephant dolphin1 kitty123 hellokitty
    doggie12 bulldogs cowboys1 steelers eagles12 patriots redskins yankees1 lakers24 maverick wolverine godzilla
    nintendo playstation xbox3600 letitbe1 freedom1 liberty1 america1 american canada12 england1 scotland ireland1
    december november october1 september february january1 monday12 summer12 summer123 winter12 winter123 spring12
    spring123 autumn12 autumn123 hackathon hackathon1 mesocosm mesocosm1 benchmark benchmark1
    """.split()  # noqa: SIM905 -- three hundred literals in quotes would say nothing more
)
"""Common passwords of at least eight characters, in lower case."""
