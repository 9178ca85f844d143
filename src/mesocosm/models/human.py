"""`builtin/human`: a person at the terminal acts as the model."""

import asyncio
import json
import os
import threading
from contextlib import suppress
from typing import Any, TextIO, cast

from mesocosm.core.description import describe
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.model import ModelRequest
from mesocosm.core.ports import Model
from mesocosm.models.inprocess import InProcessModel, spoken

TERMINAL = "/dev/tty"
_LONGEST = 4000


def open_human(name: str, terminal: str = TERMINAL) -> Model:
    """Return a model that asks on `terminal`, one question at a time."""
    console = _Console(terminal)

    async def answer(request: ModelRequest) -> str:
        line = await console.ask(question(request))
        return spoken(line, request) if request.schema is not None else line

    return InProcessModel(name, answer, verify=console.verify)


def question(request: ModelRequest) -> str:
    """Return what the person sees: the position in the episode, the observation, and the possible actions."""
    view = request.view
    if view is None:
        return "\n\n".join(message.text for message in request.messages) + "\n"
    lines = [f"── {view.task} · step {view.step + 1}" + (f" · trial {view.trial + 1}" if view.trial else "")]
    lines.append(_readable(view.observation if view.observation is not None else _last(request)))
    if view.space is not None:
        lines.append(f"Action: {describe(view.space)}")
    return "\n".join(lines) + "\n"


def _readable(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


def _last(request: ModelRequest) -> str:
    return request.messages[-1].text if request.messages else ""


def _open(terminal: str, mode: str) -> TextIO:
    # O_NOCTTY: a terminal that is opened by name must not become our controlling terminal, which could hang us up.
    def opener(path: str, flags: int) -> int:
        return os.open(path, flags | os.O_NOCTTY)

    return cast("TextIO", open(terminal, mode, encoding="utf-8", errors="replace", opener=opener))


class _Console:
    """Reads the terminal in a single thread for all questions: a line typed after a question answers it.

    The thread is a daemon because a blocked read cannot be interrupted; it must not keep the process alive.
    """

    def __init__(self, terminal: str) -> None:
        self._terminal = terminal
        self._turn = asyncio.Lock()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._reader: threading.Thread | None = None
        self._ended = False

    def verify(self) -> None:
        try:
            _open(self._terminal, "w").close()
        except OSError as error:
            raise UsageError(
                f"builtin/human needs a terminal, and {self._terminal} cannot be opened ({error.strerror}); run the "
                "command in a terminal, or use builtin/scripted:FILE"
            ) from error

    async def ask(self, text: str) -> str:
        async with self._turn:
            if not self._ended:
                self._start()
                while not self._lines.empty():
                    self._ended = self._lines.get_nowait() is None
            if not self._ended:
                self._show(text)
                line = await self._lines.get()
                if line is not None:
                    return line
                self._ended = True
            raise EpisodeError(
                Cause.CANCELLED, "builtin/human: the terminal was closed; resume the run to go on where it stopped"
            )

    def _show(self, text: str) -> None:
        with _open(self._terminal, "w") as terminal:
            terminal.write(f"\n{text}> ")

    def _start(self) -> None:
        if self._reader is None:
            loop = asyncio.get_running_loop()
            self._reader = threading.Thread(target=self._read, args=(loop,), name="human", daemon=True)
            self._reader.start()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # The loop has ended, so no caller waits for a line any more.
            with suppress(OSError), _open(self._terminal, "r") as terminal:
                for line in terminal:
                    loop.call_soon_threadsafe(self._lines.put_nowait, line.rstrip("\r\n"))
            loop.call_soon_threadsafe(self._lines.put_nowait, None)
