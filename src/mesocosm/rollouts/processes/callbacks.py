"""The HTTP listener for the callbacks of rollout servers: one completion and one grading per row."""

import asyncio
import hmac
import secrets
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from mesocosm.core.foreign import read_json
from mesocosm.proxy.server import ProxyReply, ProxyRequest, ProxyServer
from mesocosm.rollouts.processes.wire import CompletionReport, GradingReport, Replies

_PATH = "/v1/rollouts/"
_REMEMBERED = 4096
"""Number of finished rows to remember. Their late callbacks are acknowledged, so that servers do not repeat them."""

_ENDS = {"completion": {"success", "failure", "cancelled"}, "grader": {"success", "failure"}}


class PendingResults:
    """The results of one row. The first of each kind counts."""

    def __init__(self, replies: Replies) -> None:
        loop = asyncio.get_running_loop()
        self.replies = replies
        self.completion: asyncio.Future[CompletionReport] = loop.create_future()
        self.grading: asyncio.Future[GradingReport] = loop.create_future()


class Callbacks:
    """Listens on loopback for callbacks. `notice` is called for a callback that contradicts an earlier one."""

    def __init__(self, notice: Callable[[str], None]) -> None:
        self._notice = notice
        self._server = ProxyServer(self._answer)
        self._secret = secrets.token_bytes(32)
        self._root = ""
        self._expected: dict[str, PendingResults] = {}
        self._over: deque[str] = deque(maxlen=_REMEMBERED)
        self._known: set[str] = set()
        self._keys: dict[str, str] = {}

    async def start(self) -> None:
        """Listen on a free port. Raises OSError."""
        self._root = await self._server.start()

    async def stop(self) -> None:
        """Stop listening."""
        await self._server.stop()

    def expect(self, name: str, key: str = "") -> PendingResults:
        """Accept the callbacks of row `name` from now on, authorised by `key` if given."""
        if key:
            self._keys[name] = key
        root = f"{self._root}{_PATH}{name}"
        expected = PendingResults(Replies(f"{root}/completion", f"{root}/grader", self._key(name)))
        self._expected[name] = expected
        return expected

    def forget(self, name: str) -> None:
        """Acknowledge and ignore further callbacks of row `name`."""
        if self._expected.pop(name, None) is None:
            return
        if len(self._over) == _REMEMBERED:
            self._known.discard(self._over[0])
            self._keys.pop(self._over[0], None)
        self._over.append(name)
        self._known.add(name)

    def _key(self, name: str) -> str:
        """Return the key of one row. It does not authorise callbacks of other rows."""
        return self._keys.get(name) or hmac.new(self._secret, name.encode("utf-8", "replace"), "sha256").hexdigest()

    async def _answer(self, request: ProxyRequest, reply: ProxyReply) -> None:
        status, words = self._take(request)
        await reply.send(status, msgspec.json.encode({"detail": words} if words else {}))

    def _take(self, request: ProxyRequest) -> tuple[int, str]:
        name, _, kind = request.path.removeprefix(_PATH).rpartition("/")
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self._key(name)}".encode()):
            return 401, "this callback needs the controller_api_key of its try as bearer token"
        if not request.path.startswith(_PATH) or kind not in _ENDS:
            return 404, f"nothing is at {request.path}"
        if request.method != "POST":
            return 405, "callbacks are POSTed"
        expected = self._expected.get(name)
        if expected is None:
            return (200, "") if name in self._known else (404, f"no try is called {name!r}")
        try:
            return self._settle(name, kind, expected, request.body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            # It will not be sent again, so this ends the row.
            words = f"the server's {kind} callback cannot be read: {error}"
            self._heed(name, kind, expected, _unreadable(kind, words))
            return 422, words

    def _settle(self, name: str, kind: str, expected: PendingResults, body: bytes) -> tuple[int, str]:
        told = read_json(body, CompletionReport) if kind == "completion" else read_json(body, GradingReport)
        if told.status not in _ENDS[kind]:
            return 422, f"status {told.status!r} does not end anything"
        if told.rollout_id not in {None, name}:
            return 422, f"the body is about another try than {name!r}"
        self._heed(name, kind, expected, told)
        return 200, ""

    def _heed(self, name: str, kind: str, expected: PendingResults, told: CompletionReport | GradingReport) -> None:
        future: asyncio.Future[Any] = expected.completion if kind == "completion" else expected.grading
        if not future.done():
            future.set_result(told)
        elif not future.cancelled() and future.result() != told:
            self._notice(f"rollout: a second, different {kind} callback for {name} was ignored")


def _unreadable(kind: str, words: str) -> CompletionReport | GradingReport:
    return CompletionReport("failure", words) if kind == "completion" else GradingReport("failure", words)
