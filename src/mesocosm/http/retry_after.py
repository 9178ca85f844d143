"""The time that a server asks clients to wait before a retry."""

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

from mesocosm.core.foreign import finite

LONGEST_S = 86_400.0


def retry_after(header: Callable[[str], str | None]) -> float | None:
    """Return the seconds to wait from `retry-after-ms`, or from `retry-after` as seconds or HTTP date.

    Return None if both are missing or unusable. The result is at most LONGEST_S.
    """
    in_ms = finite(header("retry-after-ms"))
    if in_ms is not None:
        return min(max(in_ms / 1000.0, 0.0), LONGEST_S)
    value = header("retry-after")
    seconds = finite(value)
    if value is not None and seconds is None:
        try:
            seconds = finite(parsedate_to_datetime(value).timestamp() - time.time())
        except (ValueError, OverflowError, OSError):
            return None
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_S)
