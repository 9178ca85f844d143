"""The work on one question: tools over a corpus, a calculator, and programs if they can be confined."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.benchmarks.builtin.gaia_orchestrated.calculator import calculate
from mesocosm.benchmarks.builtin.gaia_orchestrated.corpus import Corpus
from mesocosm.benchmarks.builtin.gaia_orchestrated.grading import final_answer
from mesocosm.benchmarks.orchestrated.confinement import PYTHON_SECONDS, run_python
from mesocosm.benchmarks.orchestrated.tool import Arguments, WorkTool, tool
from mesocosm.core.model import Tool
from mesocosm.core.turn import CalledTool

SEARCH, BROWSE = "research.web_search", "research.web_browse"
LOOKUP, EXECUTE = "research.docs_lookup", "research.code_exec"
FINISH = tool("finish", "End the task with the answer.", {"answer": "the answer alone, without words around it"})
_FORM = (
    "The answer is a number, as few words as possible, or a list of these separated by commas. Write a number in "
    "digits, without a unit and without commas, unless the question asks for them."
)
_DIRECTIONS = (
    "The files in the current folder are the documents that are there. Find out what is asked from them; do not answer "
    "from memory. End with one line `FINAL ANSWER: ` and the answer behind it, or, if you were told to report "
    "something, with the report."
)
_NO_DOCUMENTS = (
    "End with one line `FINAL ANSWER: ` and the answer behind it, or with the report that you were asked for."
)
_TOOLS = "Find out what the question needs with the tools; do not answer from memory."


class Solved(msgspec.Struct, frozen=True, omit_defaults=True):
    """Gold data of a question: the answer, and its sources for the oracle."""

    answer: str
    sources: tuple[str, ...] = ()
    calculation: str = ""


class Research:
    """Implements mesocosm.benchmarks.orchestrated.job.CellJob for one question.

    Without a corpus there are no documents to search.
    """

    def __init__(self, question: str, solved: Solved, corpus: Corpus | None, *, programs: bool) -> None:
        self._question = question
        self._solved = solved
        self._corpus = corpus
        self._folder: Path | None = None
        self.tools: Mapping[str, WorkTool] = {own.tool.name: own for own in work_tools(corpus, programs=programs)}

    @property
    def prompt(self) -> str:
        """The question and the form of its answer."""
        return (
            f"{self._question}\n\n{_FORM}\nGive the answer with the tool {FINISH.name} if there is one, or end with "
            "one line `FINAL ANSWER: ` and the answer behind it."
        )

    @property
    def briefing(self) -> str:
        """How to work."""
        return _TOOLS

    @property
    def directions(self) -> str:
        """How a program works that starts in the folder of documents."""
        return _DIRECTIONS if self._corpus is not None else _NO_DOCUMENTS

    @property
    def folder(self) -> Path:
        """A folder with the documents as files, created on first access."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="mesocosm-gaia-"))
            for number, document in enumerate(self._corpus.documents if self._corpus is not None else ()):
                (self._folder / f"{number:03}.txt").write_text(document.written(), encoding="utf-8")
        return self._folder

    @property
    def finish(self) -> Tool:
        """The tool that takes the answer."""
        return FINISH

    @property
    def script(self) -> Sequence[CalledTool]:
        """The calls that open the answer's sources and compute it."""
        calls: list[CalledTool] = []
        if "web_search" in self.tools:
            calls.append(CalledTool("web_search", {"query": self._question}))
        if self._corpus is not None:
            tables = {url: self._corpus.holds_table(url) for url in self._solved.sources}
            calls += [
                CalledTool("read_document" if table else "web_browse", {"url": url}) for url, table in tables.items()
            ]
        if self._solved.calculation:
            calls.append(CalledTool("calculator", {"expression": self._solved.calculation}))
        return calls

    @property
    def solution(self) -> str:
        """The right answer."""
        return self._solved.answer

    async def open(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def answer_in(self, text: str) -> str | None:
        """Return the answer in the line `FINAL ANSWER:`."""
        return final_answer(text)

    async def result(self, answer: str | None) -> dict[str, Any]:
        """Return the answer."""
        return {"answer": answer}

    async def close(self) -> None:
        """Remove the folder."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def work_tools(corpus: Corpus | None, *, programs: bool) -> list[WorkTool]:
    """Return the tools of a worker. `programs` says whether it may run Python, confined and without a network."""
    found = _reading(corpus) if corpus is not None else []
    described = "Compute an arithmetic expression: numbers, + - * / // % **, parentheses, "
    described += "abs, min, max, sum, mean, round, sqrt, floor, ceil."
    found.append(WorkTool(tool("calculator", described, {"expression": "the expression"}), EXECUTE, _calculated))
    if programs:
        described = f"Run a Python program for at most {PYTHON_SECONDS} seconds and return what it prints."
        found.append(WorkTool(tool("run_python", described, {"code": "the program"}), EXECUTE, _ran))
    return found


def _reading(corpus: Corpus) -> list[WorkTool]:
    async def search(arguments: Arguments) -> str:
        return corpus.search(arguments["query"])

    async def browse(arguments: Arguments) -> str:
        return corpus.browse(arguments["url"])

    async def read(arguments: Arguments) -> str:
        return corpus.read(arguments["url"], arguments.get("column", ""), arguments.get("equals", ""))

    url = {"url": "an address that web_search or a page gave"}
    rows = {"column": "only rows where this column …", "equals": "… has this value"}
    return [
        WorkTool(tool("web_search", "Search for pages and tables.", {"query": "words to look for"}), SEARCH, search),
        WorkTool(tool("web_browse", "Open a page and return its text.", url), BROWSE, browse),
        WorkTool(tool("read_document", "Open a table and return its rows.", url, rows), LOOKUP, read),
    ]


async def _calculated(arguments: Arguments) -> str:
    value = calculate(arguments["expression"])
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)


async def _ran(arguments: Arguments) -> str:
    return await run_python(arguments["code"])
