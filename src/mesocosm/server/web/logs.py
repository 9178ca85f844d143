"""Log format of a server: lines of text or JSON, without secrets."""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Literal

from mesocosm.core.failure import legible
from mesocosm.core.redact import Redactor

Format = Literal["text", "json"]

_OURS = ("mesocosm", "uvicorn.error")
REQUEST = "mesocosm.requests"
"""Name of the logger with one line per request; its records have `facts`."""


class Lines(logging.Formatter):
    """Formats one line per record. The items of a record's `facts` mapping become separate fields."""

    def __init__(self, kind: Format) -> None:
        super().__init__()
        self._kind = kind
        self._redactor = Redactor()

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with secrets redacted; in text format a traceback follows on further lines."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        words = self._redactor.text(record.getMessage())
        facts = getattr(record, "facts", {})
        trace = self._redactor.text(self.formatException(record.exc_info)) if record.exc_info else ""
        level = record.levelname.lower()
        if self._kind == "json":
            known = {"at": at, "level": level, "logger": record.name, "message": words, "pid": record.process}
            more = {"trace": trace} if trace else {}
            return json.dumps({**known, **facts, **more}, ensure_ascii=False, default=str)
        listed = "".join(f" {name}={value}" for name, value in facts.items() if value not in (None, ""))
        # Escape line breaks, so that a client cannot forge log lines.
        return f"{at} {level} {_line(words + listed)}" + (f"\n{trace}" if trace else "")


@contextmanager
def logging_as(kind: Format) -> Iterator[None]:
    """Log to standard error in a format, instead of printing warnings as commands do."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines(kind))
    before = []
    for name in _OURS:
        logger = logging.getLogger(name)
        before.append((logger, logger.handlers[:], logger.level, logger.propagate))
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "mesocosm" else logging.WARNING)
    try:
        yield
    finally:
        for logger, handlers, level, propagate in before:
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)


def _line(words: str) -> str:
    return legible(words).replace("\r", "\\r").replace("\n", "\\n")
