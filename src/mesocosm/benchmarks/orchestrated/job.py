"""The work of one instance, independent of the agent that does it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from mesocosm.benchmarks.orchestrated.tool import WorkTool
from mesocosm.core.model import Tool
from mesocosm.core.turn import CalledTool


class CellJob(Protocol):
    """One instance for one episode. Only `script` and `solution` may use the gold data."""

    @property
    def prompt(self) -> str:
        """The task as text."""
        ...

    @property
    def briefing(self) -> str:
        """How to do the work with the tools, for the worker."""
        ...

    @property
    def directions(self) -> str:
        """How to do the work, for a program that starts in `folder` and has its own tools."""
        ...

    @property
    def folder(self) -> Path:
        """The folder in which such a program works; it exists after `open`."""
        ...

    @property
    def tools(self) -> Mapping[str, WorkTool]:
        """The worker's tools, by name."""
        ...

    @property
    def finish(self) -> Tool:
        """The tool that ends the episode; its argument `answer` is the answer."""
        ...

    @property
    def script(self) -> Sequence[CalledTool]:
        """The calls of a perfect worker, for the oracle."""
        ...

    @property
    def solution(self) -> str:
        """The right answer, for the oracle."""
        ...

    async def open(self) -> None:
        """Prepare what the tools need. Raises EpisodeError."""
        ...

    def answer_in(self, text: str) -> str | None:
        """Return the final answer that a text gives without calling `finish`, or None if it gives none."""
        ...

    async def result(self, answer: str | None) -> dict[str, Any]:
        """Return the facts that the grader needs. `answer` is None if the episode ended without one."""
        ...

    async def close(self) -> None:
        """Release what `open` acquired; never raises."""
        ...
