"""Faults of a fake server, and when they occur."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    """Kinds of failures that real endpoints have shown."""

    STATUS = "status"
    HANG = "hang"
    CLOSE = "close"
    CUT = "cut"
    GARBAGE = "garbage"
    EMPTY_BODY = "empty_body"
    EMPTY_TEXT = "empty_text"


@dataclass(frozen=True, slots=True)
class Fault:
    """One failure.

    `status`, `retry_after`, `header` (a name and a value) and `text` (the error message) apply to STATUS faults; `raw`
    replaces their whole body. HANG never answers, CLOSE drops the connection before the response, CUT in the middle of
    it, GARBAGE responds 200 with text that is not JSON, EMPTY_BODY 200 without a body, EMPTY_TEXT with a well-formed
    response without content.
    """

    kind: FaultKind = FaultKind.STATUS
    status: int = 500
    text: str = "the fake server failed on demand"
    retry_after: str = ""
    header: tuple[str, str] | None = None
    code: str = ""
    param: str = ""
    raw: bytes | None = None


RATE_LIMIT = Fault(status=429, text="slow down", retry_after="0", code="rate_limit_exceeded")
SERVER_ERROR = Fault()
HANG = Fault(FaultKind.HANG)
CLOSE = Fault(FaultKind.CLOSE)
CUT = Fault(FaultKind.CUT)
GARBAGE = Fault(FaultKind.GARBAGE)
EMPTY_BODY = Fault(FaultKind.EMPTY_BODY)
EMPTY_TEXT = Fault(FaultKind.EMPTY_TEXT)

PASSING: tuple[Fault, ...] = (RATE_LIMIT, SERVER_ERROR, CLOSE, CUT, GARBAGE, EMPTY_BODY)
"""Faults that a client notices at once and that a retry can fix."""


def sometimes(share: float, seed: int = 0, faults: Sequence[Fault] = PASSING) -> Iterator[Fault | None]:
    """Yield forever a random one of `faults` with probability `share`, else None; reproducible by `seed`."""
    rng = random.Random(seed)
    while True:
        yield rng.choice(faults) if rng.random() < share else None
