"""One process of a rollout: started, looked at until it answers, watched, and ended with its children."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe
from typing import Any
from uuid import uuid4

import msgspec

import mesocosm
from mesocosm.core.content import Content
from mesocosm.core.failure import EpisodeError, RunAborted
from mesocosm.core.redact import Redactor
from mesocosm.http.client import Client
from mesocosm.http.errors import BadResponse, HttpError
from mesocosm.http.response import Response
from mesocosm.rollouts.place import Log
from mesocosm.rollouts.served.output import Lines, LogFile
from mesocosm.sandboxes.plain import PlainSandbox
from mesocosm.sandboxes.port import free_port
from mesocosm.sandboxes.process import ForeignProcess

BOOTSTRAP = Path(__file__).with_name("bootstrap.py")
PACKAGE = Path(mesocosm.__file__).parent
SHIM = PACKAGE / "rollouts" / "shim"

TAKEN = ("address already in use", "eaddrinuse", "errno 98", "errno 48")
PORTS = 3
"""Another program can take the port between our look at it and the rollout's; then the next one is tried."""

LINES = 20
CERTAIN_S = 0.2
"""Who was seen on the event loop for less may have been seen by chance, just before nothing could be seen any more."""

_LOOK_S = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.1
_END_S = 1.0


@dataclass(frozen=True, slots=True)
class Launch:
    """How a process of a rollout is started. `prefix` begins the names of its tries; `scratch` is a folder for it."""

    python: str
    folder: Path
    entrypoint: str
    environment: Mapping[str, str] = field(repr=False)
    prefix: str
    scratch: Path
    seconds: float


@dataclass(frozen=True, slots=True)
class Loss:
    """Why a process is of no use any more: it `died`, or it answers nothing.

    `culprit` is the try that keeps its event loop from going on and `where` the line, as far as one could see.
    `alone`: it had one try.
    """

    words: str
    died: bool
    alone: bool
    stderr: str = ""
    culprit: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """How long a try held the event loop, in seconds, and the line where it was seen."""

    seconds: float = 0.0
    where: str = ""
    name: str = ""


@dataclass(slots=True)
class Passenger:
    """A try under way: who hears its lines, its seconds, and a future that says why it had better go elsewhere.

    `accepted`: the server took it, and may have done some of its work.
    """

    log: Log
    seconds: float | None
    moved: asyncio.Future[str]
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class Marks:
    """What belongs to one start: its id, the file in which it tells who holds its event loop, the key to it."""

    instance: str
    watch: Path
    key: str = field(repr=False)


class RolloutProcess:
    """A rollout that serves. `tries` are those under way, by name; `lost` is set once, at its end.

    `retired`: it gets no more tries; `abandoned` counts those that it goes on with although nobody waits for them.
    `answer` is what it last said at /health before it was healthy. `punctual`: its SDK is ours, which ends each try in
    time whatever its code does.
    """

    def __init__(self, process: ForeignProcess, port: int, marks: Marks, client: Client, redactor: Redactor) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}"
        self.instance = marks.instance
        self.capacity: int | None = None
        self.punctual = False
        self.answer = ""
        self.tries: dict[str, Passenger] = {}
        self.retired = False
        self.abandoned = 0
        self.lost: asyncio.Future[Loss] = asyncio.get_running_loop().create_future()
        self._watch = marks.watch
        self._key = marks.key
        self._redactor = redactor
        self._client = client
        self._ended: asyncio.Task[None] | None = None

    @property
    def usable(self) -> bool:
        """Whether it may be given more tries."""
        return not self.retired and not self.lost.done()

    def follow(self) -> None:
        """Notice its end from now on."""
        self._ended = asyncio.create_task(self._follow())

    async def post(self, path: str, body: Any, seconds: float) -> Response:
        """Send JSON (bytes as they are). Raises HttpError."""
        data = body if isinstance(body, bytes) else msgspec.json.encode(body)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        return await self._client.request(
            "POST", self.url + path, headers=headers, body=data, timeout=seconds, resend=False
        )

    async def get(self, path: str, headers: Mapping[str, str], seconds: float) -> Response:
        """Ask for something. Raises HttpError."""
        headers = {"Authorization": f"Bearer {self._key}", **headers}
        return await self._client.request("GET", self.url + path, headers=headers, timeout=seconds)

    async def healthy(self, seconds: float) -> bool:
        """Return whether it answers within so many seconds, whatever it says."""
        try:
            await self._client.request("GET", f"{self.url}/health", timeout=seconds)
        except BadResponse:
            return True
        except HttpError:
            return False
        return True

    def lose(self, words: str) -> None:
        """Give it up because it answers nothing: whoever waits for it hears why."""
        if not self.lost.done():
            now = self.holder()
            if now.seconds < CERTAIN_S or now.name not in self.tries:
                now = Held()
            alone = len(self.tries) < 2 and not self.abandoned
            loss = Loss(words, died=False, alone=alone, stderr=self.words(), culprit=now.name, where=now.where)
            self.lost.set_result(loss)

    def holder(self) -> Held:
        """Return which try holds the event loop at this moment, and since when."""
        now = self._seen().get("now") or {}
        return Held(now.get("seconds", 0.0), now.get("where", ""), now.get("name", ""))

    def held(self) -> dict[str, Held]:
        """Return which tries held the event loop noticeably."""
        total = self._seen().get("total", {})
        return {name: Held(told["seconds"], told["where"], name) for name, told in total.items()}

    def words(self) -> str:
        """Return its last words."""
        return self._redactor.text(self.process.stderr_tail(LINES) or self.process.stdout_tail(LINES))

    async def stop(self, grace: float = 0.0) -> None:
        """End it with its children."""
        await self.process.stop(grace)
        if self._ended is not None:
            await self._ended

    async def _follow(self) -> None:
        code = await self.process.wait()
        if not self.lost.done():
            self.lost.set_result(Loss(ending(code), died=True, alone=len(self.tries) < 2, stderr=self.words()))

    def _seen(self) -> dict[str, Any]:
        try:
            seen = json.loads(self._watch.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return seen if isinstance(seen, dict) else {}


def ending(code: int) -> str:
    """Return how a process ended, as people say it."""
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


def quoted(words: str) -> str:
    """Return the last words of a process as an indented block under a message."""
    return "; its last words:\n" + "\n".join(f"  | {line}" for line in words.splitlines()) if words else ""


async def start(launch: Launch, client: Client, file: LogFile, content: Content | None = None) -> RolloutProcess:
    """Start a process and return it once it is healthy. Raises RunAborted with its last words.

    Raises EpisodeError (cancelled) where the rollout is no longer `content`, or was not when the process had read it.
    """
    for left in reversed(range(PORTS)):
        if content is not None:
            await content.check()
        server = await _started(launch, client, file)
        try:
            await _answering(server, launch, client)
            if content is not None:
                await content.check()
        except RunAborted:
            words = server.words()
            await server.stop()
            if left and any(sign in words.lower() for sign in TAKEN):
                continue
            raise
        except BaseException:
            await server.stop()
            raise
        server.follow()
        return server
    raise AssertionError("the last try returns or raises")


async def _started(launch: Launch, client: Client, file: LogFile) -> RolloutProcess:
    port, instance, key = free_port(), uuid4().hex, token_urlsafe(24)
    watch = launch.scratch / f"{instance}.json"
    words = (launch.folder, launch.entrypoint, SHIM, PACKAGE, launch.prefix, watch)
    served: list[RolloutProcess] = []

    def listener() -> Log | None:
        # Of lines that are written while several tries run, nobody can say whose they are.
        tries = served[0].tries if served else {}
        return next(iter(tries.values())).log if len(tries) == 1 else None

    told = {
        "_OSMOSIS_ROLLOUT_PORT": str(port),
        "ROLLOUT_PORT": str(port),
        "_OSMOSIS_ROLLOUT_ARTIFACT_ROOT": str(launch.scratch),
        "_OSMOSIS_ROLLOUT_INSTANCE_ID": instance,
        "MESOCOSM_ROLLOUT_KEY": key,
    }
    place = PlainSandbox(environment={}, heard=Lines(file, listener).hear)
    try:
        process = await place.start(
            [launch.python, str(BOOTSTRAP), *map(str, words)],
            cwd=launch.folder,
            env={**launch.environment, **told},
            port=port,
        )
    except EpisodeError as error:
        raise RunAborted(f"rollout {launch.folder.name}: {error}") from error
    server = RolloutProcess(process, port, Marks(instance, watch, key), client, file.redactor)
    served.append(server)
    return server


async def _answering(server: RolloutProcess, launch: Launch, client: Client) -> None:
    """Return once it is healthy, and keep its capacity. Raises RunAborted."""
    name = f"rollout {launch.folder.name}: {launch.entrypoint}"
    ended = asyncio.ensure_future(server.process.wait())
    look = asyncio.create_task(_looks(server, client))
    began = time.monotonic()
    try:
        await asyncio.wait({ended, look}, timeout=launch.seconds, return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            hint = "" if ended.result() else "\nAn entry file serves until it is stopped: does it call uvicorn.run(…)?"
            raise RunAborted(f"{name} {ending(ended.result())} before it answered{quoted(server.words())}{hint}")
        if not look.done():
            hint = "" if server.answer else "\nDoes it take its port from _OSMOSIS_ROLLOUT_PORT?"
            raise RunAborted(
                f"{name} answered {server.answer or 'nothing'} at /health on its port within "
                f"{time.monotonic() - began:.0f} s{quoted(server.words())}{hint}"
            )
        health = look.result()
        server.capacity, server.punctual = _capacity(health), "isolated" in health
    finally:
        ended.cancel()
        look.cancel()
        await asyncio.gather(ended, look, return_exceptions=True)


async def _looks(server: RolloutProcess, client: Client) -> dict[str, Any]:
    """Look at /health until it says that all is well, and return what it says."""
    pause = _FIRST_PAUSE
    while True:
        try:
            response = await client.request("GET", f"{server.url}/health", timeout=_LOOK_S)
            shown = response.body[:80].decode("utf-8", "replace")
            server.answer = f"status {response.status} and {shown!r} instead of a healthy JSON object"
            told = response.json() if 200 <= response.status < 300 else None
            # Another server can have taken the port.
            if isinstance(told, dict) and told.get("instance_id") in {None, server.instance}:
                return told
        except HttpError:
            pass
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _capacity(health: Mapping[str, Any]) -> int | None:
    concurrency = health.get("concurrency")
    most = concurrency.get("max_concurrent") if isinstance(concurrency, dict) else None
    return most if isinstance(most, int) and most > 0 else None
