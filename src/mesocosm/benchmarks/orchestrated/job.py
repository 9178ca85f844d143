"""The work of one instance, apart from who does it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from mesocosm.benchmarks.orchestrated.tool import WorkTool
from mesocosm.core.model import Tool
from mesocosm.core.turn import CalledTool


class CellJob(Protocol):
    """One instance for one episode. Nothing here but `script` and `solution` may know the gold data."""

    @property
    def prompt(self) -> str:
        """The task in words, for whoever gets it."""
        ...

    @property
    def briefing(self) -> str:
        """How the work is to be done with the tools, for the worker."""
        ...

    @property
    def directions(self) -> str:
        """How the work is to be done by a program that starts in `folder` and has tools of its own."""
        ...

    @property
    def folder(self) -> Path:
        """Where such a program works; there after `open`."""
        ...

    @property
    def tools(self) -> Mapping[str, WorkTool]:
        """What the worker may use, by name."""
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
        """Return the final answer that a text gives without calling `finish`, None where it gives none."""
        ...

    async def result(self, answer: str | None) -> dict[str, Any]:
        """Return what is kept of the work for the grader. `answer` is None when the episode ended without one."""
        ...

    async def close(self) -> None:
        """Give back what `open` took; never raises."""
        ...
