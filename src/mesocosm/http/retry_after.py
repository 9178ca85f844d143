"""How long a server asks to wait before the next try."""

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime


def retry_after(header: Callable[[str], str | None]) -> float | None:
    """Return the seconds that the server asks to wait: `retry-after-ms`, or `retry-after` as seconds or HTTP date."""
    in_ms = header("retry-after-ms")
    if in_ms is not None:
        try:
            return max(float(in_ms) / 1000.0, 0.0)
        except ValueError:
            pass
    value = header("retry-after")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return max(seconds, 0.0) if seconds < float("inf") else None
