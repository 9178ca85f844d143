"""Data of benchmarks on the Hugging Face hub: who cannot have it may name a file instead."""

from pathlib import Path

from mesocosm.datasets import hub
from mesocosm.datasets.hub import Hub

__all__ = ["Hub", "download"]


def download(subject: str, where: Hub) -> list[Path]:
    """Return the files, from the cache where they are in it. Raises Incompatible where they cannot be had."""
    return hub.download(subject, where, "name a file with the knob data_path")
