"""The work on one instance: a checkout, tools for it, and the resulting diff."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.builtin.swe_bench_orchestrated.instance import Instance
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.repository import MOST_PATCH, Checkout, Repositories
from mesocosm.benchmarks.builtin.swe_bench_orchestrated.workspace import CheckoutWorkspace, definition_of, work_tools
from mesocosm.benchmarks.orchestrated.tool import WorkTool, tool
from mesocosm.core.model import Tool
from mesocosm.core.turn import CalledTool

FINISH = tool("finish", "End the task; the repository as it is now is handed in.", {}, {"answer": "what was done"})
_BRIEFING = (
    "You work in a checkout of the repository. Change its files with the tools, so that the problem is solved; do not "
    "change the tests, which are replaced afterwards. Only changes of files count."
)
_DIRECTIONS = (
    "The current folder is a checkout of the repository. Change its files so that the problem is solved; do not change "
    "the tests, which are replaced afterwards. Only changes of files count."
)


class Repair:
    """Implements mesocosm.benchmarks.orchestrated.job.CellJob for one instance."""

    def __init__(self, instance: Instance, repositories: Repositories, *, shell: bool) -> None:
        self._instance = instance
        self._repositories = repositories
        self._shell = shell
        self._checkout: Checkout | None = None
        self.tools: Mapping[str, WorkTool] = {}

    @property
    def prompt(self) -> str:
        """The problem statement of the issue."""
        return (
            f"Solve this problem in the repository {self._instance.repository}:\n\n"
            f"<problem>\n{self._instance.problem}\n</problem>"
        )

    @property
    def briefing(self) -> str:
        """How to work."""
        return _BRIEFING

    @property
    def directions(self) -> str:
        """How a program works that starts in the checkout."""
        return _DIRECTIONS

    @property
    def folder(self) -> Path:
        """The checkout."""
        return self.checkout.folder

    @property
    def finish(self) -> Tool:
        """The tool that submits the repository."""
        return FINISH

    @property
    def script(self) -> Sequence[CalledTool]:
        """The calls that look around and apply the reference repair."""
        calls = [CalledTool("list_files", {}), CalledTool("search", {"text": definition_of(self._instance.problem)})]
        return [*calls, CalledTool("apply_patch", {"patch": self._instance.gold.patch})]

    @property
    def solution(self) -> str:
        """A fixed text; the result is the diff."""
        return "done"

    @property
    def checkout(self) -> Checkout:
        """The checkout. Raises RuntimeError before `open`."""
        if self._checkout is None:
            raise RuntimeError("the work was not opened")
        return self._checkout

    async def open(self) -> None:
        """Check the repository out. Raises EpisodeError."""
        self._checkout = await self._repositories.checkout(self._instance)
        space = CheckoutWorkspace(self._checkout.folder)
        self.tools = {own.tool.name: own for own in work_tools(space, shell=self._shell)}

    def answer_in(self, text: str) -> str | None:
        """Return None: text does not end a repair."""
        del text
        return None

    async def result(self, answer: str | None) -> dict[str, Any]:
        """Return the diff of the checkout; if it is too large, only its size."""
        patch = await self.checkout.diff()
        found: dict[str, Any] = {"finished": answer is not None, "patch_characters": len(patch)}
        return {**found, "patch": patch if len(patch) <= MOST_PATCH else ""}

    async def close(self) -> None:
        """Remove the checkout."""
        if self._checkout is not None:
            shutil.rmtree(self._checkout.folder.parent, ignore_errors=True)
