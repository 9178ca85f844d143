"""Waits before calls that failed are repeated."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds before a retry: exponential up to `cap` with jitter (50 to 100 %), or Retry-After up to `longest`."""

    base: float = 0.5
    factor: float = 2.0
    cap: float = 30.0
    longest: float = 300.0

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Return the wait before retry number `attempt` (1, 2, …)."""
        if retry_after is not None:
            return min(max(retry_after, 0.0), self.longest)
        return random.uniform(0.5, 1.0) * min(self.base * self.factor ** (attempt - 1), self.cap)
