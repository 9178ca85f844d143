"""The response cache: a request that was answered before is not sent again.

The key covers everything that is sent (model, address, messages, sampling, schema, tools, extra settings), the trial
index, and how many equal calls the same episode made before. Repetitions of a task therefore get separate answers, and
so do repeated calls within an episode: a vote over five samples gets five. Errors are never stored. A cached answer
keeps its token counts, costs 0.0 because nothing was spent, and has `cached` set.
"""

import asyncio
import hashlib
import logging
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mesocosm.core.abilities import Warns
from mesocosm.core.failure import InfrastructureError
from mesocosm.core.folder import from_home
from mesocosm.core.ids import APPLICATION_ID
from mesocosm.core.message import ToolCall
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Model
from mesocosm.core.proxy import Served
from mesocosm.core.usage import Usage

FILE = "responses.sqlite"
"""Name of the database when the cache is a directory."""

_BUSY_S = 10.0
_log = logging.getLogger(__name__)
_sorted = msgspec.json.Encoder(order="sorted").encode
_T = TypeVar("_T")


class _Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage = Usage(calls=1)
    model: str = ""
    served: str = ""
    blocks: tuple[dict[str, Any], ...] = ()


_read = msgspec.json.Decoder(_Kept).decode


def request_key(settings: ModelSettings, address: str, request: ModelRequest) -> bytes:
    """Return the key of a request: a SHA-256 digest (32 bytes) of everything that affects the answer."""
    sent = [
        settings.name,
        address,
        settings.extra,
        *request.content,
        request.trial,
    ]
    if request.repeat:
        sent.append(request.repeat)
    return hashlib.sha256(_sorted(sent)).digest()


class ResponseFile:
    """A SQLite file of answers by key. Several processes may use it at once. Methods block."""

    def __init__(self, path: Path) -> None:
        self.path = path / FILE if path.is_dir() else path
        self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            _write_ahead(connection)
            # An answer lost in a power cut is simply requested again; syncing each write would cost more than it saves.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS responses (key BLOB PRIMARY KEY, reply BLOB NOT NULL, at REAL NOT NULL) "
                "WITHOUT ROWID"
            )
        except (sqlite3.Error, OSError) as error:
            raise InfrastructureError(
                f"the response cache {self.path} cannot be used: {error}; name another file, or delete this one if it "
                "is not a cache any more"
            ) from error
        return connection

    def get(self, key: bytes) -> ModelReply | None:
        """Return the answer stored under `key`, marked as cached, or None. Raises sqlite3.Error."""
        row = self._connection.execute("SELECT reply FROM responses WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        try:
            kept = _read(row[0])
        except msgspec.DecodeError:
            self._connection.execute("DELETE FROM responses WHERE key = ?", (key,))
            return None
        usage = msgspec.structs.replace(kept.usage, cost_usd=0.0)
        return ModelReply(
            kept.text,
            kept.reasoning,
            kept.tool_calls,
            kept.finish_reason,
            usage,
            kept.model,
            cached=True,
            served=kept.served,
            blocks=kept.blocks,
        )

    def put(self, key: bytes, reply: ModelReply) -> None:
        """Store an answer unless the key already has one. Raises sqlite3.Error."""
        kept = _Kept(
            reply.text,
            reply.reasoning,
            reply.tool_calls,
            reply.finish_reason,
            reply.usage,
            reply.model,
            reply.served,
            reply.blocks,
        )
        self._connection.execute(
            "INSERT OR IGNORE INTO responses VALUES (?, ?, ?)", (key, msgspec.json.encode(kept), time.time())
        )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log, retrying while locked: SQLite itself does not wait for a lock here."""
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                # Set the id before there is a log, so that it is written to the database file itself.
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if (
                error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
                or time.monotonic() > deadline
            ):
                raise
            time.sleep(0.01)
        else:
            return


@dataclass(slots=True)
class _Flight:
    """A call in progress and the number of callers waiting for it."""

    task: "asyncio.Task[ModelReply]"
    waiting: int = 0


class CachedModel:
    """A model behind the response cache. Concurrent equal requests are sent once; each caller gets the answer.

    `settings.cache` names a file, or a directory (existing, or written with a trailing slash) to put one in; `address`
    is the URL of the model's server. Raises InfrastructureError if the cache cannot be used.
    """

    def __init__(self, model: Model, settings: ModelSettings, address: str = "") -> None:
        self._model = model
        self._settings = settings
        self._address = address
        path = from_home(settings.cache)
        self._file = ResponseFile(path / FILE if settings.cache.endswith("/") else path)
        # A single thread is enough: SQLite mostly answers from memory, and the event loop must not wait for file locks.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="response-cache")
        self._flights: dict[bytes, _Flight] = {}
        self._warned = False

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the wrapped model, without those that are not asked for through a cache."""
        return replace(self._model.capabilities, logprobs=False)

    @property
    def server(self) -> Mapping[str, str]:
        """The wrapped model's server facts; empty for a model without an address."""
        return self._model.server if isinstance(self._model, Served) else {}

    def warnings(self) -> Sequence[str]:
        """Return the warnings of the wrapped model."""
        return self._model.warnings() if isinstance(self._model, Warns) else ()

    async def check(self) -> None:
        """Check the wrapped model and raise its errors."""
        await self._model.check()

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Return the stored answer, or call the model. Raises EpisodeError."""
        started = time.perf_counter()
        key = request_key(self._settings, self._address, request)
        flight = self._flights.get(key)
        joined = flight is not None
        if flight is None:
            task = asyncio.get_running_loop().create_task(self._fetch(key, request))
            flight = self._flights[key] = _Flight(task)
            task.add_done_callback(lambda _: self._forget(key, flight))
        flight.waiting += 1
        try:
            reply = await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                # All callers were cancelled; a new one must not join a call that is being cancelled.
                self._forget(key, flight)
                flight.task.cancel()
        if joined and not reply.cached:
            usage = msgspec.structs.replace(reply.usage, cost_usd=0.0)
            reply = replace(reply, usage=usage, cached=True)
        return replace(reply, latency_s=time.perf_counter() - started) if reply.cached else reply

    def _forget(self, key: bytes, flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]

    async def _fetch(self, key: bytes, request: ModelRequest) -> ModelReply:
        kept = await self._attempt(lambda: self._file.get(key))
        if kept is not None:
            return kept
        reply = await self._model.ask(request)
        await self._attempt(lambda: self._file.put(key, reply))
        return reply

    async def _attempt(self, act: Callable[[], _T]) -> _T | None:
        """Run a file operation. A cache that fails during a run is skipped, with one warning."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, act)
        except sqlite3.Error as error:
            if not self._warned:
                self._warned = True
                _log.warning("the response cache %s is not used: %s", self._file.path, error)
            return None

    async def close(self) -> None:
        """Close the model and the file."""
        await self._model.close()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._file.close)
        self._thread.shutdown()
