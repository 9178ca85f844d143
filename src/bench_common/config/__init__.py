"""Settings from the environment."""

from bench_common.config.settings import settings

__all__ = ["settings"]
