"""What runs inside of a guest: the standard library and one framework, nothing of mesocosm.

A module of this folder speaks for a framework: its `framework()` returns an object with a method for each word that it
understands (see mesocosm.guests.messages). A method takes the fields of the request as keywords and `tell`, and returns
what is `done`; it may be a coroutine, or yield events instead.
"""

import asyncio
import importlib
import importlib.util
import inspect
import json
import math
import os
import platform
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

LONGEST_LINE = 8 * 1024 * 1024
"""Longer lines go through a file."""
_LIMIT = 2 * LONGEST_LINE
_FRAMES = 12


class Failed(Exception):
    """A request failed for a known cause, the name of a core.failure.Cause; `detail` is for the trace."""

    def __init__(self, message: str, cause: str = "environment_error", detail: str = "") -> None:
        super().__init__(message)
        self.cause = cause
        self.detail = detail


class Tell:
    """Sends the events of one request: `tell("tool_call", {...})`. May be called from any thread."""

    def __init__(self, session: "_Session", number: int) -> None:
        self._session = session
        self._number = number

    def __call__(self, kind: str, payload: Any) -> None:
        """Send a line of the trace; its kind is one of mesocosm.core.event.Kind."""
        self.event({"kind": kind, "payload": payload})

    def event(self, event: Mapping[str, Any]) -> None:
        """Send an event of any other form."""
        self._session.send({"id": self._number, "event": event})


class _Session:
    def __init__(self, framework: Any, writer: asyncio.StreamWriter, loop: asyncio.AbstractEventLoop) -> None:
        self._framework = framework
        self._writer = writer
        self._loop = loop
        self._thread = threading.get_ident()
        self.tasks: dict[int, asyncio.Task[None]] = {}

    def send(self, message: Mapping[str, Any]) -> None:
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self.send, message)
            return
        try:
            line = _encode(message)
        except (TypeError, ValueError):
            line = _encode(_plain(message))
        data = line.encode("utf-8", "backslashreplace")
        if len(data) > LONGEST_LINE:
            file, name = tempfile.mkstemp(prefix="mesocosm-", suffix=".json")
            with os.fdopen(file, "wb") as written:
                written.write(data)
            data = json.dumps({"file": name}).encode()
        self._writer.write(data + b"\n")

    def take(self, line: bytes) -> None:
        request = json.loads(line)
        if "file" in request:
            path = Path(request["file"])
            request = json.loads(path.read_bytes())
            path.unlink()
        number, do = request.pop("id"), request.pop("do")
        if do == "cancel":
            task = self.tasks.get(request["of"])
            if task is not None:
                task.cancel()
            return
        # What is done at once needs no task.
        try:
            tell = Tell(self, number)
            method = getattr(self._framework, do, None) if do != "hello" else _hello
            found: Any = (method or _unknown(do))(tell=tell, **request)
            if not (inspect.isgenerator(found) or inspect.isawaitable(found)):
                self.send({"id": number, "done": found})
                return
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- foreign code
            self._fail(number, error)
            return
        task = self._loop.create_task(self._answer(number, tell, found))
        self.tasks[number] = task
        task.add_done_callback(lambda _: self.tasks.pop(number, None))

    async def _answer(self, number: int, tell: Tell, found: Any) -> None:
        try:
            if inspect.isgenerator(found):
                for event in found:
                    tell.event(cast("Mapping[str, Any]", event))
                    # What was yielded must leave before more is made.
                    await self._writer.drain()
                found = None
            else:
                found = await found
            self.send({"id": number, "done": found})
        except asyncio.CancelledError:
            self.send({"id": number, "failed": {"message": "cancelled", "cause": "cancelled", "detail": ""}})
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- foreign code
            self._fail(number, error)

    def _fail(self, number: int, error: BaseException) -> None:
        if isinstance(error, Failed):
            failed = {"message": str(error), "cause": error.cause, "detail": error.detail}
        else:
            frames = "".join(traceback.format_exception(type(error), error, error.__traceback__)[-_FRAMES:])
            failed = {"message": f"{type(error).__name__}: {error}", "cause": "environment_error", "detail": frames}
        self.send({"id": number, "failed": failed})


def _hello(**_: Any) -> dict[str, str]:
    return {"python": platform.python_version()}


def _unknown(do: str) -> Callable[..., Any]:
    def fail(**_: Any) -> None:
        raise Failed(f"this framework has no {do!r}", "environment_invalid")

    return fail


def _shown(value: Any) -> Any:
    """Return what JSON can hold of a foreign value."""
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "size", 1) == 1:
        return _plain(item())
    tolist = getattr(value, "tolist", None)
    if callable(tolist):
        return _plain(tolist())
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return _plain(dump(mode="json"))
    if isinstance(value, set | frozenset | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return repr(value)


def _plain(value: Any) -> Any:
    """Return `value` with keys that are texts, and texts for numbers that JSON does not know."""
    if type(value) is float and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key if type(key) is str else str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_shown).encode


def finite(value: Any) -> float | None:
    """Return a number as a float that can be a score; None for anything else, among it NaN and infinities."""
    if isinstance(value, bool):
        return float(value)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def versions(*names: str) -> dict[str, str]:
    """Return the versions of installed distributions by name; those that are not there are left out."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def digest(*values: Any) -> str:
    """Return the digest of JSON values, files (as paths) and bytes."""
    import hashlib

    whole = hashlib.sha256()
    for value in values:
        if isinstance(value, Path):
            data = value.read_bytes()
        elif isinstance(value, bytes):
            data = value
        else:
            data = json.dumps(_plain(value), sort_keys=True, default=_shown).encode("utf-8", "backslashreplace")
        whole.update(len(data).to_bytes(8, "big") + data)
    return whole.hexdigest()[:32]


async def _serve(framework: Any, connection: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=connection, limit=_LIMIT)
    session = _Session(framework, writer, asyncio.get_running_loop())
    while line := await reader.readline():
        session.take(line)
        await writer.drain()
    running = list(session.tasks.values())
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


def main(module: str, descriptor: int) -> None:
    """Speak for the framework of a module, by its name here or the path of its file, until the other side is gone."""
    # Whatever the framework prints is for the log; its answers take the socket.
    sys.stdout = sys.stderr
    connection = socket.socket(fileno=descriptor)
    connection.settimeout(0)
    if module.endswith(".py"):
        spec = importlib.util.spec_from_file_location("mesocosm_guest_module", module)
        assert spec is not None
        assert spec.loader is not None
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
    else:
        loaded = importlib.import_module(f"{__name__}.{module}")
    asyncio.run(_serve(loaded.framework(), connection))
