"""The original's settings that have an effect here. They are read on each access."""

import os
from pathlib import Path

from mesocosm.core.failure import UsageError

_NO_LIMIT = 0


class Settings:
    """The values of the variables ORCH_*."""

    @property
    def trace_dir(self) -> Path:
        """The directory of TraceStore: ORCH_TRACE_DIR, else ./data/traces."""
        return Path(os.environ.get("ORCH_TRACE_DIR") or "data/traces")

    @property
    def max_steps_per_episode(self) -> int | None:
        """Steps after which `bench` truncates an episode: ORCH_MAX_EPISODE_STEPS. None, the default, is unlimited."""
        return _number("ORCH_MAX_EPISODE_STEPS") or _number("ORCH_MAX_STEPS_PER_EPISODE")

    @property
    def max_tokens_per_episode(self) -> int | None:
        """Tokens after which an episode fails: ORCH_MAX_TOKENS_PER_EPISODE. None, the default, is unlimited."""
        return _number("ORCH_MAX_TOKENS_PER_EPISODE")


def _number(variable: str) -> int | None:
    """Return a positive number, or None if it is unset or not positive. Raises UsageError if it is not a number."""
    text = os.environ.get(variable, "").strip()
    try:
        number = int(text or _NO_LIMIT)
    except ValueError:
        raise UsageError(f"{variable} is {text!r}; set it to a whole number, or unset it") from None
    return number if number > _NO_LIMIT else None


settings = Settings()
