"""Locations and texts of errors in users' code, without frames of Python, of packages and of this SDK."""

import sysconfig
import traceback
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import CoroutineType, FrameType, TracebackType
from typing import Any

FRAMES = 12
"""Maximum number of innermost frames of a traceback to keep."""

LONGEST_MESSAGE, LONGEST_TRACEBACK = 4_000, 32_000
"""Maximum number of characters of an error message and of a traceback to keep."""

_OURS = str(Path(__file__).parent)
_PYTHON = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})


@lru_cache(maxsize=4096)
def is_library(file: str) -> bool:
    """Return whether a file belongs to Python, an installed package or this SDK."""
    if file.startswith("<") or "site-packages" in file or "dist-packages" in file:
        return True
    return file.startswith((_OURS, *_PYTHON))


def location_of(coroutine: Any) -> str:
    """Return where a suspended coroutine waits, as `main.py:31 in run`; empty if it waits outside of users' code."""
    frame = next(reversed(list(_frames(coroutine))), None)
    if frame is None:
        return ""
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} in {frame.f_code.co_name}"


def _frames(coroutine: Any) -> Iterator[FrameType]:
    while isinstance(coroutine, CoroutineType):
        frame = coroutine.cr_frame
        if frame is not None and not is_library(frame.f_code.co_filename):
            yield frame
        coroutine = coroutine.cr_await


def format_traceback(error: BaseException) -> str:
    """Return the traceback of an error from the first frame outside of this SDK, at most the last 12 frames."""
    innermost: TracebackType | None = error.__traceback__
    while innermost is not None and innermost.tb_frame.f_code.co_filename.startswith(_OURS):
        innermost = innermost.tb_next
    try:
        lines = traceback.format_exception(type(error), error, innermost, limit=-FRAMES)
    except Exception:  # noqa: BLE001 - users' exception classes may raise anything
        return type(error).__name__
    return shortened("".join(lines), LONGEST_TRACEBACK)


def format_message(error: BaseException) -> str:
    """Return the message of an error, or its type if the message is empty or cannot be read."""
    try:
        said = str(error)
    except Exception as broken:  # noqa: BLE001 - as above
        return f"{type(error).__name__}, which cannot be shown: its __str__ raised {type(broken).__name__}"
    return shortened(said, LONGEST_MESSAGE) or type(error).__name__


def shortened(text: str, most: int) -> str:
    """Return a text that UTF-8 can encode, with the middle removed if it has more than `most` characters."""
    if len(text) > most:
        half = most // 2
        text = f"{text[:half]} [… {len(text) - 2 * half} characters …] {text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode()
