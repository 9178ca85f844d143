"""Results of single items that an external program wrote: one JSON object per line, or a list in a JSON file."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mesocosm.agents.program import ITEM
from mesocosm.benchmarks.descriptor import ItemPart
from mesocosm.benchmarks.json_path import Path as JsonPath
from mesocosm.benchmarks.json_path import PathNotFound, look_up, parse_path
from mesocosm.benchmarks.question import kept
from mesocosm.benchmarks.result import Bounds, ResultFileError, ResultValue, number, read_document
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.ports import Observation, Step
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task

MOST_LINE = 4 * 1024 * 1024
"""A longer line (in bytes) counts as broken."""
MOST_NAMED = 20
"""Maximum number of broken lines that are listed one by one."""
RECORD = "record"
"""Metadata key of an item's task: its `ProgramItem`."""
PART = "part"
"""Metadata key of a task: whether it is the program's own (`PROGRAM`) or an item (`ITEMS`)."""
ITEMS, PROGRAM = "item", "program"


@dataclass(frozen=True, slots=True)
class ProgramItem:
    """One item as the program processed it. `error` is the error that the program reports, or an empty string.

    `tags` are the values that metrics filter by; `further` are scores beside that of `reading`. `calls` are the
    numbers, from 1, of its model calls among those of the program.
    """

    id: str
    line: int
    reading: ResultValue
    input: Any = None
    output: Any = None
    error: str = ""
    cluster: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    further: tuple[Score, ...] = ()
    calls: tuple[int, ...] = ()

    def task(self, name: str) -> Task:
        """Return the item's task. Its identity consists of id and input, so that runs pair by item."""
        return Task(
            name,
            input={"id": self.id, "input": self.input},
            cluster=self.cluster or None,
            metadata={**self.tags, ITEM: True, PART: ITEMS, RECORD: self},
        )

    def scores(self, task: Task, name: str, metrics: Iterable[Metric]) -> list[Score]:
        """Return the item's scores: the one called `name`, the further ones, and a copy for each metric that covers it.

        The copies are needed because a run aggregates all scores of one name; a metric over a part needs its own name.
        """
        given = [self.reading.score(name), *self.further]
        known = {score.name for score in given}
        parts = (metric.score for metric in metrics if metric.where and metric.covers(task))
        return [*given, *(self.reading.score(part) for part in dict.fromkeys(parts) if part not in known)]


@dataclass(slots=True)
class ItemsFile:
    """The contents of an items file, and the problems found in it, as sentences."""

    found: list[ProgramItem] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    broken: int = 0
    word: str = "line"

    def tasks(self) -> Iterator[Task]:
        """Yield the items as tasks, in order; repeated ids get a numbered name."""
        seen: dict[str, int] = {}
        for item in self.found:
            times = seen[item.id] = seen.get(item.id, 0) + 1
            yield item.task(item.id if times == 1 else f"{item.id} ({times})")

    def broke(self, line: int, reason: str) -> None:
        """Record a line that is not an item."""
        self.broken += 1
        if self.broken <= MOST_NAMED:
            self.problems.append(f"{self.word} {line} is not an item and was left out: {reason}")

    def problem_list(self) -> tuple[str, ...]:
        """Return the problems; a long list is shortened."""
        rest = self.broken - MOST_NAMED
        more = (f"{rest} more broken {self.word}s were left out",) if rest > 0 else ()
        return (*self.problems, *more)


def read_items(path: Path, part: ItemPart, bounds: Bounds, item_list: str = "") -> ItemsFile:
    """Return the items of a JSONL file, or of the list at the path `item_list` of a JSON file.

    Broken lines are counted. Raises only OSError.
    """
    items = ItemsFile()
    reader = _Reader(part, bounds)
    if item_list:
        return _listed(path, reader, item_list)
    with path.open("rb") as file:
        for number_, line in enumerate(_lines(file.readline), 1):
            if line is None:
                items.broke(number_, f"it is longer than {MOST_LINE >> 20} MiB")
            elif line.strip():
                try:
                    items.found.append(reader.item(number_, line))
                except (ValueError, RecursionError) as error:
                    items.broke(number_, str(error))
    return items


def _listed(path: Path, reader: "_Reader", item_list: str) -> ItemsFile:
    try:
        found = look_up(read_document(path), list_path(item_list))
    except (ResultFileError, PathNotFound) as error:
        return ItemsFile(problems=[f"holds no list of items at {item_list}: {error}"])
    if not isinstance(found, list):
        return ItemsFile(problems=[f"holds no list of items at {item_list}, but {json.dumps(found)[:80]}"])
    items = ItemsFile(word="element")
    for number_, record in enumerate(found, 1):
        try:
            items.found.append(reader.record(number_, record))
        except (ValueError, RecursionError) as error:
            items.broke(number_, str(error))
    return items


def list_path(text: str) -> JsonPath:
    """Return the steps to a list, which may be written with `[*]` behind it. Raises UsageError."""
    return parse_path(text.removesuffix("[*]") or "$")


def _lines(readline: Any) -> Iterator[bytes | None]:
    """Yield the lines; None for one that is too long."""
    while line := readline(MOST_LINE):
        if len(line) < MOST_LINE or line.endswith(b"\n"):
            yield line
            continue
        while (rest := readline(MOST_LINE)) and not rest.endswith(b"\n"):
            pass
        yield None


def item_paths(part: ItemPart) -> dict[str, str]:
    """Return the JSON paths that are set; those of tags are called `tags.NAME`."""
    own = part.model_dump(exclude={"tags"})
    return {name: path for name, path in {**own, **{f"tags.{k}": v for k, v in part.tags.items()}}.items() if path}


class _Reader:
    def __init__(self, part: ItemPart, bounds: Bounds) -> None:
        self._part = part
        self._bounds = bounds
        self._paths = {name: parse_path(path) for name, path in item_paths(part).items()}

    def item(self, line: int, raw: bytes) -> ProgramItem:
        """Return the item of a line. Raises ValueError."""
        return self.record(line, json.loads(raw))

    def record(self, line: int, record: Any) -> ProgramItem:
        """Return the item of a record, which is that of a line or an element. Raises ValueError."""
        if not isinstance(record, dict):
            raise ValueError("it is not a JSON object")  # noqa: TRY004  (about the line, not about our call)
        name = self._at(record, "id")
        cluster = self._at(record, "cluster")
        error = self._at(record, "error")
        reading = number(record, self._part.score, self._bounds)
        return ProgramItem(
            id=_name(name) if name is not None else f"line {line}",
            line=line,
            reading=reading,
            input=self._at(record, "input"),
            output=self._at(record, "output"),
            error="" if error in (None, False, "") else _name(error),
            cluster="" if cluster is None else _name(cluster),
            tags={
                tag: _name(value) for tag in self._part.tags if (value := self._at(record, f"tags.{tag}")) is not None
            },
        )

    def _at(self, record: Any, name: str) -> Any:
        if name not in self._paths:
            return None
        try:
            return look_up(record, self._paths[name])
        except PathNotFound:
            return None


def _name(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class ItemEnvironment:
    """The environment of an item: it shows the input and accepts the program's output as the action."""

    def __init__(self, item: ProgramItem) -> None:
        self._item = item

    async def reset(self) -> Observation:
        """Return the item as an observation."""
        item = self._item
        return Observation({"id": item.id, "input": item.input, "output": item.output})

    async def step(self, action: Any) -> Step:
        """Accept the program's output. Raises EpisodeError for an error that the program reported."""
        if self._item.error:
            raise EpisodeError(
                Cause.PROGRAM_FAILED,
                f"the program reports an error for item {self._item.id!r}: {self._item.error[:2000]}",
                facts={"line": self._item.line},
            )
        info = {"answer": kept(action), "line": self._item.line}
        calls = {"calls": list(self._item.calls)} if self._item.calls else {}
        return Step(Observation(None), terminated=True, info={**info, **calls})

    async def oracle(self) -> Any:
        """Return the program's output; no better action is known."""
        return self._item.output

    async def close(self) -> None:
        """Do nothing: there are no resources to release."""
