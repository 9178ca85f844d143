"""The log of a build for the author of the environment, without paths and secrets of this server."""

import os
import re
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from mesocosm.core.redact import Redactor, secret_values
from mesocosm.server.schemas.document import discreet

MOST = 200_000
"""Maximum length of a log in characters. Older text is dropped."""

NOTE = "note to the author: "
"""Prefix of lines that the author should act on, although the build can succeed."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class BuildLog:
    """The log of one build. `folder` is the build directory; paths in it are shown relative to it."""

    def __init__(self, folder: Path, before: str = "") -> None:
        self._folder = str(folder)
        self._redactor = Redactor()
        self._pieces: deque[str] = deque([before] if before else [])
        self._length = len(before)
        self._cut = False
        self.changed = bool(before)

    def hide(self, secrets: Iterable[str]) -> None:
        """Never show these texts, besides the secrets of this server."""
        self._redactor = Redactor({*secrets, *secret_values(os.environ)})

    def say(self, line: str) -> None:
        """Add a line by the server."""
        self.hear(f"{line}\n")

    def note(self, words: str) -> None:
        """Add a note that the author should act on."""
        self.say(NOTE + self.clean(words))

    def hear(self, text: str) -> None:
        """Add output of a program."""
        self._pieces.append(text)
        self._length += len(text)
        self.changed = True
        while self._length > 2 * MOST and len(self._pieces) > 1:
            self._length -= len(self._pieces.popleft())
            self._cut = True

    def text(self) -> str:
        """Return the end of the log, cleaned, at most about `MOST` characters."""
        whole = self.clean("".join(self._pieces))
        if len(whole) <= MOST and not self._cut:
            return whole
        return f"[the beginning of this log is not kept]\n{whole[-MOST:].partition(chr(10))[2] or whole[-MOST:]}"

    def clean(self, text: str) -> str:
        """Return text without server paths, secrets, overwritten progress lines, colours and control characters."""
        lines = text.replace("\r\n", "\n").split("\n")
        drawn_over = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
        plain = _CONTROLS.sub("", _ESCAPES.sub("", drawn_over))
        return self._redactor.text(discreet(plain.replace(f"{self._folder}{os.sep}", "").replace(self._folder, ".")))


def notes_of(log: str) -> list[str]:
    """Return the notes to the author in a log."""
    return [line[len(NOTE) :] for line in log.splitlines() if line.startswith(NOTE)]
