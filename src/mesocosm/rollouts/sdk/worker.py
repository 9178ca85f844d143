"""The loop of a worker process: receive rows over a socket, execute them with a backend, and send back the results.

If an entry file starts the server of its rollout itself, the rows still come over the socket instead of HTTP.
"""

import asyncio
import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from mesocosm.rollouts.output import RowOutput, current_output
from mesocosm.rollouts.processes import watch
from mesocosm.rollouts.sdk import clients
from mesocosm.rollouts.sdk.backend import ExecutionBackend, execute
from mesocosm.rollouts.sdk.context import RolloutContext
from mesocosm.rollouts.sdk.frames import (
    CANCEL,
    COMPLETION,
    GRADING,
    HELLO,
    LINE,
    PING,
    PLAY,
    PONG,
    WORN,
    FrameReader,
    frame,
)
from mesocosm.rollouts.sdk.request import ExecutionRequest, ExecutionResult, encode_completion, encode_grading
from mesocosm.rollouts.sdk.status import RolloutStatus

if TYPE_CHECKING:
    from fastapi import FastAPI

SOCKET_ENV = "_MESOCOSM_WORKER_SOCKET"

THREADS = 256
"""Threads for the asyncio.to_thread calls of rows; asyncio's default is only 6 on two cores."""

CLEAN_UP_S = 0.25
"""Seconds after which the code of a cancelled row counts as still running."""

Task = asyncio.Task[Any]


class WorkerLoop(asyncio.Protocol):
    """Executes the rows that arrive on a socket, any number concurrently, on one event loop."""

    def __init__(self, backend: ExecutionBackend, app: "FastAPI | None" = None) -> None:
        self._backend = backend
        self._app = app
        self._frames = FrameReader()
        self._playing: dict[str, Task] = {}
        self._rows: WeakKeyDictionary[Task, str] = WeakKeyDictionary()
        self._unsent: list[bytes] = []
        self._thread = threading.get_ident()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._transport: asyncio.Transport | None = None
        self._closed: asyncio.Future[None] | None = None

    def run(self) -> None:
        """Serve until the socket closes, on a new event loop."""
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        serving = loop.create_task(self.serve())
        while not serving.done():
            # A SystemExit in the task of one row leaves the loop. It must not end the other rows.
            with contextlib.suppress(BaseException):
                loop.run_until_complete(serving)
        serving.result()

    async def serve(self) -> None:
        """Serve until the socket closes, on the running event loop."""
        loop = self._loop = asyncio.get_running_loop()
        self._closed = loop.create_future()
        loop.set_task_factory(self._new_task)
        loop.set_default_executor(ThreadPoolExecutor(THREADS, "row"))
        if watch.started is not None:
            watch.started.row_of = self._row_on_loop
        async with contextlib.AsyncExitStack() as stack:
            if self._app is not None:
                await stack.enter_async_context(self._app.router.lifespan_context(self._app))
            stack.push_async_callback(clients.close)
            connection = socket.socket(fileno=int(os.environ.pop(SOCKET_ENV)))
            await loop.create_connection(lambda: self, sock=connection)
            self._send(HELLO, json.dumps({"capacity": self._backend.max_concurrency}).encode())
            while not self._closed.done():
                # The code of a row may cancel every task that it can find.
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.shield(self._closed)

    # The socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all rows and end: the owner of the rows has disconnected."""
        assert self._closed is not None
        for task in self._playing.values():
            task.cancel()
        if not self._closed.done():
            self._closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        """Process the received frames."""
        for kind, body in self._frames.feed(data):
            if kind == PLAY:
                self._start(json.loads(body))
            elif kind == CANCEL:
                for name in json.loads(body):
                    self._cancel(name)
            elif kind == PING:
                self._send(PONG, body)

    def _send(self, kind: bytes, body: bytes) -> None:
        """Queue a frame, to be sent with all others of this turn of the loop."""
        if not self._unsent:
            assert self._loop is not None
            self._loop.call_soon(self._flush)
        self._unsent.append(frame(kind, body))

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, []
        if unsent and self._transport is not None:
            self._transport.write(b"".join(unsent))

    def _send_line(self, name: str, stream: str, line: str) -> None:
        """Send a line at once, so that it is not lost if the row ends this process next."""
        body = json.dumps([name, stream, line]).encode()
        if threading.get_ident() == self._thread:
            self._unsent.append(frame(LINE, body))
            self._flush()
        else:
            with contextlib.suppress(RuntimeError):
                assert self._loop is not None
                self._loop.call_soon_threadsafe(self._send, LINE, body)

    # Rows

    def _start(self, asked: dict[str, Any]) -> None:
        name = asked["rollout_id"]
        output = RowOutput(name, lambda stream, line: self._send_line(name, stream, line))
        context = copy_context()
        context.run(current_output.set, output)
        assert self._loop is not None
        task = self._loop.create_task(self._play(name, asked, output), context=context)
        self._playing[name] = task
        task.add_done_callback(lambda done: self._ended(name, done))

    async def _play(self, name: str, asked: dict[str, Any], output: RowOutput) -> None:
        sent: set[bytes] = set()

        async def complete(result: ExecutionResult) -> None:
            if COMPLETION not in sent:
                sent.add(COMPLETION)
                self._send(COMPLETION, encode_completion(result, name))

        async def grade(result: ExecutionResult) -> None:
            if GRADING not in sent:
                sent.add(GRADING)
                output.end()
                self._send(GRADING, encode_grading(result, name))

        try:
            try:
                request = ExecutionRequest.of(asked, name)
                with RolloutContext(asked["chat_completions_url"], asked.get("llm_api_key"), name):
                    await execute(self._backend, request, complete, grade)
                error = "the backend ended without a result"
            except Exception as broken:  # noqa: BLE001 - any exception of a backend ends this row
                error = f"the backend failed: {type(broken).__name__}: {broken}"
            await complete(ExecutionResult(status=RolloutStatus.FAILURE, err_message=error))
            await grade(ExecutionResult(status=RolloutStatus.FAILURE))
        except asyncio.CancelledError:
            await complete(ExecutionResult(status=RolloutStatus.CANCELLED, err_message="the row was cancelled"))
            await grade(ExecutionResult(status=RolloutStatus.FAILURE))

    def _ended(self, name: str, task: Task) -> None:
        if self._playing.get(name) is task:
            del self._playing[name]
        if task.cancelled():
            # Other code cancelled it before its first step.
            result = ExecutionResult(status=RolloutStatus.CANCELLED)
            self._send(COMPLETION, encode_completion(result, name))

    def _cancel(self, name: str) -> None:
        if name not in self._playing:
            return
        if self._backend.cancel_rollouts(ids=[name]).get(name, "not_found") == "not_found":
            self._playing[name].cancel()
        assert self._loop is not None
        self._loop.call_later(CLEAN_UP_S, self._check_cancelled, name)

    def _check_cancelled(self, name: str) -> None:
        if any(row == name and not task.done() for task, row in list(self._rows.items())):
            self._send(WORN, name.encode())

    def _new_task(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Task:
        task = Task(coroutine, loop=loop, **options)
        context = options.get("context")
        output = current_output.get() if context is None else context.get(current_output)
        if output is not None:
            self._rows[task] = output.name
        return task

    def _row_on_loop(self) -> str:
        """Return the row of the task that runs on the loop at this moment. Called from another thread."""
        assert self._loop is not None
        task = asyncio.current_task(self._loop)
        return "" if task is None else self._rows.get(task, "")


def serve(backend: ExecutionBackend) -> None:
    """Serve a backend in this process until the socket closes."""
    app = _apps.get(id(backend))
    WorkerLoop(backend, app).run()


_apps: "dict[int, FastAPI]" = {}


def replace_server(app: "FastAPI", backend: ExecutionBackend) -> None:
    """In a worker process, make uvicorn take the rows of `app` from the socket instead of HTTP."""
    if SOCKET_ENV not in os.environ:
        return
    try:
        from uvicorn import Server
        from uvicorn.importer import import_from_string
    except ModuleNotFoundError:
        return
    _apps[id(backend)] = app
    plain_run, plain_serve = Server.run, Server.serve

    def is_ours(server: Any) -> bool:
        served = server.config.app
        return (import_from_string(served) if isinstance(served, str) else served) is app

    def run(self: Any, sockets: Any = None) -> None:
        if is_ours(self):
            WorkerLoop(backend, app).run()
        else:
            plain_run(self, sockets)

    async def serve_(self: Any, sockets: Any = None) -> None:
        if is_ours(self):
            await WorkerLoop(backend, app).serve()
        else:
            await plain_serve(self, sockets)

    patched: Callable[..., Any] = run
    Server.run, Server.serve = patched, serve_  # type: ignore[method-assign]
