"""The executor `ray`: workers are actors of a Ray cluster, each a process with one core of its node.

Ray starts the actors and says when one is gone. The files of a run have to be on the nodes, at the same place; what
differs there is refused. Settings travel with the run, secrets never do: an actor takes keys from the variables of its
own node.
"""

import asyncio
import importlib
import logging
import os
import re
import shlex
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mesocosm
from mesocosm.core.failure import InfrastructureError, UsageError
from mesocosm.core.model import ModelName
from mesocosm.core.ports import ExecutorSession
from mesocosm.core.redact import Redactor
from mesocosm.core.registry import option_roles
from mesocosm.core.run import RunSpec
from mesocosm.core.secret import is_secret, without_secrets
from mesocosm.engine.executors.dispatch import STARTS, Dispatcher
from mesocosm.engine.executors.links import LinkLost
from mesocosm.engine.executors.processes import END_S, cores
from mesocosm.engine.executors.worker import serve

GIVE_S = 10.0
"""Seconds after which an actor answers although its worker has sent nothing."""

MOST_BYTES = 8 * 1024 * 1024
"""Size of the messages that wait in an actor for the session; then its worker waits."""

REACH_S = 5.0
"""Seconds for an address to answer."""

ROOM_S = 10.0
"""Seconds that an actor waits for a free core before the user is told."""

GROWTH_S = 5.0
"""Seconds between two looks at the size of the cluster."""

STORE_BYTES = 512 * 1024 * 1024
"""Size of the object store of a cluster that this process starts; by default Ray takes a third of the memory."""

_WANTED = re.compile(r"(?P<place>auto|local|(ray://)?[^\s,/:]+:\d{1,5}|)((,|(?<!.))actors=(?P<actors>\d+))?")

_SETTING = re.compile(r"MESOCOSM_\w+|\w+_BASE_URL|\w+_API_BASE|OLLAMA_HOST")


@dataclass(frozen=True, slots=True)
class RayAddress:
    """A cluster and a number of actors; 0 for one for each core of the cluster."""

    place: str
    actors: int

    @classmethod
    def parse(cls, text: str) -> "RayAddress":
        """Return what `text` names. Raises UsageError."""
        found = _WANTED.fullmatch(text)
        if found is None or found["actors"] == "0":
            raise UsageError(
                f"ray:{text}: name a cluster as in ray:auto, ray:local, ray:HOST:6379 or ray:ray://HOST:10001, and "
                "optionally a number of actors, as in ray:auto,actors=8"
            )
        return cls(found["place"] or "auto", int(found["actors"] or 0))


def open_ray(address: str) -> Callable[[ExecutorSession], Dispatcher]:
    """Return the executor on the cluster that `address` names. Raises UsageError."""
    wanted = RayAddress.parse(address)
    if find_spec("ray") is None:
        raise UsageError("the executor ray needs the package Ray; install it with: pip install 'mesocosm[ray]'")
    return lambda session: Dispatcher(session, RayActors(wanted, session))


class _Cluster:
    """The connection of this process to a cluster; Ray has one for all runs of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._place = ""
        self._users = 0
        self._ours = False
        self._local = False

    def join(self, wanted: RayAddress, redactor: Redactor) -> Any:
        """Return the module `ray`, connected. Raises InfrastructureError, UsageError."""
        # Read when Ray is imported.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray = importlib.import_module("ray")
        place = (os.environ.get("RAY_ADDRESS") or "auto") if wanted.place == "auto" else wanted.place
        with self._lock:
            if ray.is_initialized() and self._local and not self._users and place != self._place:
                ray.shutdown()
            if not ray.is_initialized():
                self._place, self._ours, self._users = place, True, 0
                _silence(ray)
                self._connect(ray, place, wanted.actors or cores(), redactor)
            elif self._ours and place != self._place:
                raise UsageError(
                    f"this process is connected to the Ray cluster {self._place}; Ray allows one at a time, so play "
                    f"the run on {place} in another process"
                )
            self._users += 1
        return ray

    def _connect(self, ray: Any, place: str, cpus: int, redactor: Redactor) -> None:
        options: dict[str, Any] = {"log_to_driver": False}
        if not place.startswith("ray://"):
            # Ray Client passes options to the head, where this one ends its server.
            options["configure_logging"] = False
        self._local = place == "local"
        if not self._local:
            if _shown(redactor):
                raise UsageError(
                    "the command line has a secret in it, which Ray shows to everyone who may use the cluster; put it "
                    "into a variable, such as MESOCOSM_DATABASE_URL"
                )
            if place != "auto":
                _reach(place)
            try:
                ray.init(address=place, **options)
            except Exception as error:
                if place != "auto" or not isinstance(error, ConnectionError):
                    raise _unreachable(place, error) from error
                self._local = True
        if self._local:
            sizes = {"num_cpus": cpus, "object_store_memory": STORE_BYTES}
            try:
                ray.init(address="local", include_dashboard=False, **sizes, **options)
            except Exception as error:
                raise InfrastructureError(f"no Ray cluster can be started here: {_first_line(error)}") from error

    def leave(self, ray: Any) -> None:
        """Disconnect after the last run; a cluster of our own runs until this process ends, since it starts slowly."""
        with self._lock:
            self._users -= 1
            # Ray ends a process whose cluster is gone for a minute, so it is not kept without need.
            if not self._users and self._ours and not self._local:
                ray.shutdown()


def _end_as_before() -> None:
    """Give SIGTERM back to this process: Ray's own handler aborts it 3 seconds later, whatever still has to be written.

    Only the main thread can, and only there may a handler of ours have been replaced.
    """
    handler = signal.getsignal(signal.SIGTERM)
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)
        # As asyncio has it: a call that a signal interrupts goes on.
        signal.siginterrupt(signal.SIGTERM, False)  # noqa: FBT003 -- it takes no names


def _silence(ray: Any) -> None:
    """Keep what Ray says to operators of a cluster from the output of our commands, which may be a document."""
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    # Nothing public switches off what is printed when a process or a node is lost.
    ray._private.worker._worker_logs_enabled = False  # noqa: SLF001


def _reach(place: str) -> None:
    """Raise InfrastructureError if nothing listens at an address; Ray itself would try for minutes."""
    host, _, port = place.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), REACH_S).close()
    except (OSError, ValueError) as error:
        raise _unreachable(place, error) from error


def _unreachable(place: str, error: Exception) -> InfrastructureError:
    return InfrastructureError(
        f"the Ray cluster {place} cannot be reached: {_first_line(error)}. See whether it runs there (ray status), "
        "with the versions of Ray and Python that are used here"
    )


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    # With a traceback of another process, the last line says what happened there.
    return (lines[-1] if lines[0].endswith(":") else lines[0]).rstrip(".")


def _shown(redactor: Redactor) -> bool:
    line = shlex.join(sys.orig_argv)
    return redactor.text(line) != line


_cluster = _Cluster()


class RayActors:
    """Starts actors. Implements engine.executors.links.WorkerSource."""

    def __init__(self, wanted: RayAddress, session: ExecutorSession) -> None:
        self.most = wanted.actors or 1
        self._wanted = wanted
        self._session = session
        self._joining: asyncio.Task[None] | None = None
        self._growing: asyncio.Task[None] | None = None
        self._ray: Any = None
        self._class: Any = None
        self._waiting = 0
        self._told = False

    @property
    def what(self) -> str:
        """How the workers are called."""
        return "actor of Ray" if self.most == 1 else "actors of Ray"

    async def connect(self) -> "RayLink":
        """Start an actor and wait for it. Raises InfrastructureError, UsageError."""
        if self._joining is None:
            self._joining = asyncio.create_task(self._join())
        # A connection that is being made cannot be given up.
        await asyncio.shield(self._joining)
        for _ in range(STARTS):
            actor = self._class.remote(*self._surroundings())
            try:
                host, pid, version, missing = await self._started(actor.about.remote(_keys(self._session.run.spec)))
            except self._ray.exceptions.RayError as error:
                reason = gone(error)
            except asyncio.CancelledError:
                with suppress(Exception):
                    self._ray.kill(actor)
                raise
            else:
                if version != mesocosm.__version__:
                    raise UsageError(f"mesocosm is {version} on the node {host}, and {mesocosm.__version__} here")
                if missing:
                    raise UsageError(
                        f"{missing[0]} is set here, but not on the node {host}; keys do not travel with a run, so "
                        "set it where Ray is started there"
                    )
                return RayLink(self._ray, actor, f"actor {pid} on {host}")
        raise InfrastructureError(f"no actor of Ray can be started: {reason}")

    def _surroundings(self) -> tuple[str, list[str], dict[str, str]]:
        """Return working folder, folders of modules, and settings."""
        shown = self._session.redactor.text
        settings = {name: value for name, value in settings_of(os.environ).items() if shown(value) == value}
        return str(Path.cwd()), [str(Path(place).absolute()) for place in sys.path], settings

    async def _started(self, about: Any) -> tuple[str, int, str, list[str]]:
        self._waiting += 1
        try:
            answer = _answer(about)
            done, _ = await asyncio.wait([answer], timeout=ROOM_S)
            if not done and not self._told:
                self._told = True
                self._session.notice(f"{self._waiting} of {self.most} actors wait for a free core in the Ray cluster")
            found: tuple[str, int, str, list[str]] = await asyncio.shield(answer)
            return found
        finally:
            self._waiting -= 1

    async def _join(self) -> None:
        self._ray = await asyncio.to_thread(_cluster.join, self._wanted, self._session.redactor)
        _end_as_before()
        # Where a worker ends, the session starts another one and sends it what is left.
        options = {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
        self._class = self._ray.remote(**options)(RayWorker)
        if not self._wanted.actors:
            await self._measure()
            self._growing = asyncio.create_task(self._grow())

    async def _measure(self) -> None:
        resources = await asyncio.to_thread(self._ray.cluster_resources)
        self.most = max(int(resources.get("CPU", 0)), 1)

    async def _grow(self) -> None:
        while True:
            await asyncio.sleep(GROWTH_S)
            with suppress(Exception):
                await self._measure()

    async def close(self) -> None:
        """Leave the cluster."""
        if self._growing is not None:
            self._growing.cancel()
        if self._joining is not None:
            with suppress(Exception):
                await self._joining
        if self._ray is not None:
            await asyncio.to_thread(_cluster.leave, self._ray)


def _answer(reference: Any) -> "asyncio.Future[Any]":
    """Return the answer of an actor, to be waited for with a shield: Ray Client cannot cancel calls."""
    future: asyncio.Future[Any] = asyncio.ensure_future(reference)
    # Also where nothing waits for it any more.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


class RayLink:
    """An actor. Implements engine.executors.links.Link."""

    def __init__(self, ray: Any, actor: Any, name: str) -> None:
        self.name = name
        self._ray = ray
        self._actor = actor
        self._sent = 0
        self._received: deque[bytes] = deque()

    def send(self, data: bytes) -> None:
        """Send a message."""
        self._sent += 1
        self._actor.take.remote(self._sent, data)

    async def receive(self) -> bytes:
        """Return the next message. Raises LinkLost with what Ray says about the end of the actor."""
        while not self._received:
            try:
                self._received.extend(await asyncio.shield(_answer(self._actor.give.remote())))
            except self._ray.exceptions.RayError as error:
                raise LinkLost(gone(error)) from None
        return self._received.popleft()

    async def close(self) -> None:
        """End the actor, and give it time to close the parts."""
        with suppress(Exception):
            await asyncio.wait_for(self._actor.end.remote(), END_S)
        with suppress(Exception):
            self._ray.kill(self._actor)


class RayWorker:
    """The actor: a worker, and the messages to and from it. Implements engine.executors.links.WorkerLink."""

    def __init__(self, folder: str, path: list[str], settings: dict[str, str]) -> None:
        # What the session can import, a worker can.
        sys.path += [place for place in path if place not in sys.path]
        # Another address of a provider would be another model.
        for name in settings_of(os.environ):
            del os.environ[name]
        os.environ.update(settings)
        with suppress(OSError):
            os.chdir(folder)
        self._orders: asyncio.Queue[bytes] = asyncio.Queue()
        self._early: dict[int, bytes] = {}
        self._next = 1
        self._news: list[bytes] = []
        self._bytes = 0
        self._some, self._room, self._ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._serving: asyncio.Task[str] | None = None

    # Called by the session

    async def about(self, keys: list[list[str]]) -> tuple[str, int, str, list[str]]:
        """Return the name of the node, the process, the version of this package, and which keys are missing here.

        Of each list of names, one variable is enough.
        """
        missing = [names[0] for names in keys if not any(os.environ.get(name) for name in names)]
        return socket.gethostname(), os.getpid(), mesocosm.__version__, missing

    async def take(self, number: int, data: bytes) -> None:
        """Take a message of the session; Ray may bring the next one first."""
        self._early[number] = data
        while (following := self._early.pop(self._next, None)) is not None:
            self._next += 1
            self._orders.put_nowait(following)
        if self._serving is None:
            self._serving = asyncio.create_task(serve(self))

    async def give(self) -> list[bytes]:
        """Return the messages that the worker has sent, as soon as there are any; none after `GIVE_S`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GIVE_S):
                await self._some.wait()
        news, self._news, self._bytes = self._news, [], 0
        self._some.clear()
        self._room.set()
        return news

    async def end(self) -> None:
        """Close the connection, and wait until the worker has closed its parts."""
        self._ended.set()
        self._room.set()
        if self._serving is not None:
            await asyncio.wait([self._serving])

    # Called by the worker

    async def receive(self) -> bytes:
        """Return the next message of the session. Raises LinkLost."""
        order = asyncio.ensure_future(self._orders.get())
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait([order, ended], return_when=asyncio.FIRST_COMPLETED)
            if order.done():
                return order.result()
            raise LinkLost("the session has closed the connection")
        finally:
            order.cancel()
            ended.cancel()

    async def send(self, data: bytes) -> None:
        """Keep a message for the session, and wait until there is room for another. Raises LinkLost."""
        self._news.append(data)
        self._bytes += len(data)
        self._some.set()
        while self._bytes > MOST_BYTES and not self._ended.is_set():
            self._room.clear()
            await self._room.wait()
        if self._ended.is_set():
            raise LinkLost("the session has closed the connection")


def settings_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that say how episodes are played and hold no secret."""
    return {name: value for name, value in without_secrets(environment).items() if _SETTING.fullmatch(name)}


def _keys(spec: RunSpec) -> list[list[str]]:
    """Return the names of the variables with keys that are set here and that the run needs, or one of each list."""
    needed = [[str(name)] for name in spec.benchmark.options.get(option_roles(spec.benchmark.kind).secrets) or ()]
    for settings in filter(None, (spec.model, spec.judge)):
        name = ModelName.parse(settings.name)
        if not name.base_url:
            prefix = name.provider.upper().replace("-", "_")
            # Addresses with a password in them do not travel either.
            places = (f"{prefix}_BASE_URL", f"{prefix}_API_BASE")
            needed += [[place] for place in places if is_secret(place, os.environ.get(place, ""))]
            own = f"{prefix}_API_KEY"
            needed.append([own, "MESOCOSM_API_KEY", *(["GOOGLE_API_KEY"] if own == "GEMINI_API_KEY" else [])])
    found = [[name for name in names if os.environ.get(name)] for names in needed]
    return [names for names in found if names]


_REASONS = (
    (r"killed by `ray\.kill", "it was ended by ray.kill"),
    (r"its node has died|node died|node was terminated", "its node is gone"),
    (r"NODE_OUT_OF_MEMORY|memory pressure", "its node had no memory left, so Ray ended it"),
    (r"No module named 'mesocosm['.]", "mesocosm is not installed on its node"),
    (r"temporarily unavailable|is unavailable", "its node does not answer"),
    (r"owner has died|fate-shares", "the process that started it is gone"),
    (r"exits with a connection error", "its process crashed or was killed"),
)
_HINTS = re.compile(r"(Some common causes|There are some potential root causes)[^\n]*")
_DETAIL = re.compile(r"Worker exit detail: ([^\n]+?)(\.\s|\.?\n|\.?$)")


def gone(error: BaseException) -> str:
    """Return in one sentence why an actor is gone, from Ray's exception."""
    # Guesses of Ray's name causes that may not be true here.
    text = _HINTS.sub("", str(error))
    for pattern, reason in _REASONS:
        if re.search(pattern, text):
            return reason
    if "worker process has died" in text or "Worker exit detail" in text:
        detail = _DETAIL.search(text)
        return "its process ended" + (f": {detail[1].strip()}" if detail else "")
    told = re.search(r"The actor is dead because ([^\n]+?)\.?(\n|$)", text)
    return told[1] if told else _first_line(error)
