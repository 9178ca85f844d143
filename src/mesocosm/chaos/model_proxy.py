"""Proxies between runs and their models' servers: they cache every response, and fail on demand.

Equal requests get equal responses, so a model becomes a function of its input and is called only once per request.
"""

import asyncio
import gzip
import itertools
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import msgspec

from mesocosm.core.failure import MesocosmError
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response

PACE_S = 0.02
"""Delay of a cached response: with immediate responses, a run would have nothing in flight when it is killed."""
ANSWER_S = 600.0
RECORDED_S = 1.0
"""Time until an episode's results are in the store: work killed within it may be requested again."""
OTHER_MODEL = "another-model-0815"

_DEEP = b'{"x":' + b"[" * 3000 + b"]" * 3000 + b',"choices":[]}'
_WAITS = ("retry-after", "retry-after-ms")
_NAMED = re.compile(rb'("model":\s*")[^"]*')
_MEMBER = gzip.compress(b"")
_KEPT_HERE = frozenset({"host", "content-length", "connection", "accept-encoding", "transfer-encoding", "expect"})


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """The response of a model's server; `headers` are further lines, `again` means that it comes from the cache."""

    status: int
    body: bytes
    content_type: str
    headers: str = ""
    again: bool = False


@dataclass(slots=True)
class ArmedFault:
    """A fault that begins after `after` responses and lasts for `seconds`, at least until one request has met it."""

    name: str
    after: int
    seconds: float
    began: float | None = None
    met: int = 0
    over: bool = False


@dataclass(slots=True)
class _Front:
    """The proxy of one server: the server's origin, and our port; `server` is None while it is down."""

    origin: str
    port: int = 0
    server: asyncio.Server | None = None

    def close(self) -> None:
        if self.server is not None:
            self.server.close()
            self.server = None


class ModelProxy(LoopbackServer):
    """Proxies for all servers passed to `address`, each on its own port, because an API key belongs to one origin.

    `answered` counts calls that got their response, `asked` those forwarded to a model's own server.
    """

    def __init__(self) -> None:
        super().__init__()
        self.answered = self.asked = 0
        self._times: deque[float] = deque(maxlen=100_000)
        self._fronts: dict[str, _Front] = {}
        self._known: dict[tuple[str, str, bytes], asyncio.Future[RecordedAnswer]] = {}
        self._armed: ArmedFault | None = None
        self._held: list[LoopbackConnection] = []
        self._waits = itertools.cycle(
            [(429, "retry-after-ms: nan\r\n"), (503, "retry-after: inf\r\n"), (429, "retry-after: nan\r\n")]
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._client: HttpClient | None = None

    def address(self, upstream: str) -> str:
        """Return the proxy's address for `upstream`. Called from another thread."""
        parts = urlsplit(upstream)
        origin = f"{parts.scheme}://{parts.netloc}"
        assert self._loop is not None, "the server has been started"
        front = asyncio.run_coroutine_threadsafe(self._front(origin), self._loop).result(timeout=30)
        return f"http://{self.host}:{front.port}{parts.path.rstrip('/')}"

    async def _front(self, origin: str) -> "_Front":
        if origin not in self._fronts:
            self._fronts[origin] = front = _Front(origin)
            await self._open_front(front)
        return self._fronts[origin]

    async def _open_front(self, front: "_Front") -> None:
        def receive(connection: LoopbackConnection, request: ReceivedRequest) -> None:
            self._spawn(self._give(connection, request, front.origin, self._act(request)))

        loop = asyncio.get_running_loop()
        front.server = await loop.create_server(
            lambda: LoopbackConnection(receive, self._open), self.host, front.port, backlog=4096
        )
        front.port = front.server.sockets[0].getsockname()[1]

    def arm(self, name: str, after: int, seconds: float) -> ArmedFault:
        """Arm a fault that begins after `after` further responses, and return it."""
        self._armed = ArmedFault(name, self.answered + after, seconds)
        return self._armed

    def disarm(self) -> None:
        """End the fault. Called from another thread."""
        armed, self._armed = self._armed, None
        if self._loop is not None and armed is not None:
            asyncio.run_coroutine_threadsafe(self._heal(armed), self._loop).result(timeout=30)

    def lately(self) -> int:
        """Return the number of responses in the RECORDED_S seconds before the latest one."""
        times = list(self._times)
        return sum(time >= times[-1] - RECORDED_S for time in times)

    async def stop(self) -> None:
        """Stop listening, and cancel requests in flight."""
        for task in self._tasks:
            task.cancel()
        for front in self._fronts.values():
            front.close()
        if self._client is not None:
            await self._client.close()
        await super().stop()

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        """Respond 404 on the port that is no proxy of a server."""
        connection.send(response(404, _error(f"no model is asked at {request.path}")))

    def _spawn(self, work: "asyncio._CoroutineLike[None]") -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _act(self, request: ReceivedRequest) -> "_Act | None":
        """Return the fault to apply to a request, or None."""
        armed = self._armed
        if armed is None or armed.over or self.answered < armed.after:
            return None
        if armed.began is None:
            armed.began = time.monotonic()
            self._spawn(self._end(armed))
        asking = request.method == "POST"
        if not asking and armed.name in _ANSWERS:
            return None
        armed.met += asking
        return _ACTS[armed.name]

    async def _end(self, armed: ArmedFault) -> None:
        if armed.name == "down":
            for front in self._fronts.values():
                front.close()
            for connection in list(self._open):
                # Not aborted: a response sent a moment ago may still be in transit.
                connection.finish()
        await asyncio.sleep(armed.seconds)
        while not armed.met and self._armed is armed:  # noqa: ASYNC110 (the next request may be long in coming)
            await asyncio.sleep(0.05)
        await self._heal(armed)

    async def _heal(self, armed: ArmedFault) -> None:
        armed.over = True
        for connection in self._held:
            connection.abort()
        self._held.clear()
        for front in self._fronts.values():
            if front.server is None:
                await self._open_front(front)

    async def _give(
        self, connection: LoopbackConnection, request: ReceivedRequest, origin: str, act: "_Act | None"
    ) -> None:
        if act is not None and act is not _half and act is not _other:
            act(self, connection, RecordedAnswer(200, b"", "application/json"))
            return
        try:
            answer = await self._answer(request, origin)
        except (HttpError, MesocosmError, TimeoutError) as error:
            body = msgspec.json.encode({"error": {"message": f"the model's server cannot be asked: {error}"}})
            connection.send(response(502, body))
            return
        if answer.again:
            await asyncio.sleep(PACE_S)
        if act is not None:
            act(self, connection, answer)
            return
        self._say(connection, answer, counted=request.method == "POST" and answer.status == 200)

    def _say(self, connection: LoopbackConnection, answer: RecordedAnswer, *, counted: bool) -> None:
        # An unreadable response is not counted, because requesting it again is legitimate.
        if counted and connection.open:
            self.answered += 1
            self._times.append(time.monotonic())
        connection.send(response(answer.status, answer.body, answer.headers, answer.content_type))

    async def _answer(self, request: ReceivedRequest, origin: str) -> RecordedAnswer:
        """Return the response to a request: from the cache, else from the server, which is called once."""
        key = (request.method, f"{origin}{request.path}", request.raw)
        known = self._known.get(key)
        if known is not None:
            found = await asyncio.shield(known)
            return replace(found, again=True)
        self._known[key] = waited = asyncio.get_running_loop().create_future()
        try:
            answer = await self._forward(request, origin)
        except BaseException as error:
            self._forget(key, waited, error)
            raise
        waited.set_result(answer)
        if answer.status != 200:
            self._known.pop(key, None)
        return answer

    def _forget(
        self, key: tuple[str, str, bytes], waited: "asyncio.Future[RecordedAnswer]", error: BaseException
    ) -> None:
        self._known.pop(key, None)
        waited.set_exception(error if isinstance(error, Exception) else ConnectionError("the server stopped"))
        waited.exception()

    async def _forward(self, request: ReceivedRequest, origin: str) -> RecordedAnswer:
        self._client = self._client or HttpClient()
        self.asked += request.method == "POST"
        got = await self._client.request(
            request.method,
            f"{origin}{request.path}",
            headers=_passed(request.head),
            body=request.raw if request.method == "POST" else None,
            timeout=ANSWER_S,
            resend=False,
        )
        waits = "".join(f"{name}: {got.headers[name]}\r\n" for name in _WAITS if name in got.headers)
        return RecordedAnswer(got.status, got.body, got.headers.get("content-type", "application/json"), waits)


_Act = Callable[[ModelProxy, LoopbackConnection, RecordedAnswer], None]


def _passed(head: bytes) -> Mapping[str, str]:
    fields = (line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:])
    return {name.strip(): value.strip() for name, _, value in fields if name.strip().lower() not in _KEPT_HERE}


def _error(text: str) -> bytes:
    return msgspec.json.encode({"error": {"message": text, "type": "server_error", "code": None}})


def _status(status: int, text: str, headers: str = "") -> _Act:
    def act(_server: ModelProxy, connection: LoopbackConnection, _answer: RecordedAnswer) -> None:
        connection.send(response(status, _error(text), headers))

    return act


def _dropped(_server: ModelProxy, connection: LoopbackConnection, _answer: RecordedAnswer) -> None:
    connection.abort()


def _hung(server: ModelProxy, connection: LoopbackConnection, _answer: RecordedAnswer) -> None:
    server._held.append(connection)  # noqa: SLF001 (a part of the server, kept beside the other faults)


def _strange_wait(server: ModelProxy, connection: LoopbackConnection, _answer: RecordedAnswer) -> None:
    status, header = next(server._waits)  # noqa: SLF001 (as above)
    connection.send(response(status, _error("slow down"), header))


def _half(_server: ModelProxy, connection: LoopbackConnection, answer: RecordedAnswer) -> None:
    whole = response(answer.status, answer.body, content_type=answer.content_type)
    connection.finish(whole[: -max(len(answer.body) // 2, 1)])


def _page(_server: ModelProxy, connection: LoopbackConnection, _answer: RecordedAnswer) -> None:
    connection.send(response(200, b"<html><body>Sign in to continue</body></html>", content_type="text/html"))


def _deep(_server: ModelProxy, connection: LoopbackConnection, _answer: RecordedAnswer) -> None:
    connection.send(response(200, _DEEP))


def _empty_members(_server: ModelProxy, connection: LoopbackConnection, _answer: RecordedAnswer) -> None:
    body = _MEMBER * (3 * 1024 * 1024 // len(_MEMBER))
    connection.send(response(200, body, "content-encoding: gzip\r\n"))


def _other(server: ModelProxy, connection: LoopbackConnection, answer: RecordedAnswer) -> None:
    # Applies to a document and to each event of a stream; within text the quotes are escaped.
    body = _NAMED.sub(rb"\g<1>" + OTHER_MODEL.encode(), answer.body)
    server._say(connection, replace(answer, body=body), counted=answer.status == 200)  # noqa: SLF001


_ANSWERS = frozenset({"half", "html", "deep", "gzip", "other-model"})
"""Faults of model responses only; other faults also affect model listings."""
_ACTS: dict[str, _Act] = {
    "down": _dropped,
    "dead": _dropped,
    "hang": _hung,
    "503": _status(503, "overloaded"),
    "429": _status(429, "slow down", "retry-after: 1\r\n"),
    "400": _status(400, "this request is not to my liking"),
    "nan": _strange_wait,
    "half": _half,
    "html": _page,
    "deep": _deep,
    "gzip": _empty_members,
    "other-model": _other,
}
