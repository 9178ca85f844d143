"""Placeholder for `osmosis_ai.rollout.backend.harbor`: container tasks need the real package."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise ModuleNotFoundError(
        f'{name} runs tasks in containers, which this stand-in cannot: pip install "osmosis-ai[harbor]"'
    )
