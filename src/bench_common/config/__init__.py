"""Settings out of the environment."""

from bench_common.config.settings import settings

__all__ = ["settings"]
