"""Rows: a file, a list, a frame. Each is a task; one column holds the right answer, and the model never sees it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest
from mesocosm.core.reading import nearest
from mesocosm.core.run import Selection
from mesocosm.core.task import ROW, Task
from mesocosm.datasets import open_table

EXPECTED = ("expected", "ground_truth", "target", "label", "answer", "reference", "solution")
"""Columns taken for the right answer if none is named."""
LONGEST_LABEL = 80
MOST_LABELS = 20


@dataclass(frozen=True, slots=True)
class TaskRows:
    """Rows as tasks: `columns` without the one called `expected`, which is empty if no column has the right answer.

    `digest` covers the content. `notes` are facts for the reader, such as which column was taken.
    """

    name: str
    columns: tuple[str, ...]
    expected: str
    tasks: Sequence[Task]
    digest: str
    notes: tuple[str, ...] = ()

    def chosen(self, selection: Selection, only: Sequence[int | str] = ()) -> Iterator[Task]:
        """Yield the tasks with the numbers or ids `only`, or the first `count`. Raises UsageError for unknown ones."""
        if not only:
            yield from self.tasks if selection.count is None else self.tasks[: selection.count]
            return
        by_id = {task.id: task for task in self.tasks}
        taken: set[str] = set()
        for wanted in only:
            if isinstance(wanted, str) and wanted in by_id:
                task = by_id[wanted]
            elif isinstance(wanted, int) and 0 <= wanted < len(self.tasks):
                task = self.tasks[wanted]
            else:
                near = nearest(str(wanted), list(by_id)[:10_000])
                hint = f"; the nearest is {near!r}" if near else ""
                raise UsageError(f"{self.name} has no row {wanted!r}; it has {len(self.tasks):,}, counted from 0{hint}")
            if task.id in taken:
                raise UsageError(f"only= names row {wanted!r} of {self.name} twice; trials= repeats rows")
            taken.add(task.id)
            yield task


def read_rows(given: Any, *, name: str = "", expected: str | None = None) -> TaskRows:
    """Return the rows of a file, a folder, a frame, or an iterable of mappings or Tasks.

    `expected` names the column with the right answer, "" for none; by default it is the only one of `EXPECTED`. Raises
    UsageError, InvalidInput, UnknownName, Incompatible.
    """
    if isinstance(given, str | Path):
        table = open_table(given)
        stem = Path(table.name).name.partition(".")[0]
        found = _Found(name or stem, table.rows, list(table.notes), Path(given).name, stable=True)
    else:
        found = _Found(name, list(_records(given)), [], name or "these rows")
    if not found.rows:
        raise UsageError(f"{found.what}: no rows; pass some")
    if all(isinstance(row, Task) for row in found.rows):
        return _of_tasks(found)
    return _of_records(found, expected)


@dataclass(slots=True)
class _Found:
    name: str
    rows: Sequence[Any]
    notes: list[str] = field(default_factory=list)
    what: str = ""
    stable: bool = False


def _records(given: Any) -> Iterator[Any]:
    """Yield the rows of a pandas or polars frame, a datasets.Dataset, or an iterable of mappings or Tasks."""
    if hasattr(given, "to_dict") and hasattr(given, "columns") and hasattr(given, "iloc"):  # pandas
        columns = [str(column) for column in given.columns]
        for values in given.itertuples(index=False, name=None):
            yield {column: _json(value) for column, value in zip(columns, values, strict=True)}
        return
    if hasattr(given, "iter_rows"):  # polars
        for row in given.iter_rows(named=True):
            yield {str(column): _json(value) for column, value in row.items()}
        return
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise UsageError(f"{type(given).__name__} is no list of rows; pass a list of dicts, a frame, a file or a name")
    for place, row in enumerate(given):
        if isinstance(row, Task):
            yield row
        elif isinstance(row, Mapping):
            yield {str(column): _json(value) for column, value in row.items()}
        else:
            raise UsageError(f"row {place} is {type(row).__name__}; a row is a dict from column to value, or a Task")


def _json(value: Any) -> Any:
    """Return a value of a frame as JSON data: NaN and missing values as None, NumPy scalars as Python's."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return None if value != value else value  # noqa: PLR0124 -- NaN is not equal to itself
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    if type(value).__name__ in {"NAType", "NaTType"}:
        return None
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return _json(value.tolist())
    if hasattr(value, "isoformat"):
        return value.isoformat()
    try:
        return msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"a cell holds {type(value).__name__}, which has no JSON form: {error}") from error


def _of_tasks(found: _Found) -> TaskRows:
    tasks: list[Task] = list(found.rows)
    content = _content(found, [[task.input, task.target, task.seed] for task in tasks])
    columns: dict[str, None] = {}
    for task in tasks:
        columns |= dict.fromkeys(task.input) if isinstance(task.input, Mapping) else {"input": None}
    tasks = [
        msgspec.structs.replace(
            task,
            input=task.input if isinstance(task.input, Mapping) else {"input": task.input},
            metadata={ROW: place, **task.metadata},
        )
        for place, task in enumerate(tasks)
    ]
    expected = "target" if any(task.target is not None for task in tasks) else ""
    return TaskRows(_named(found, content), tuple(columns), expected, tasks, content, tuple(found.notes))


def _of_records(found: _Found, expected: str | None) -> TaskRows:
    columns = tuple(dict.fromkeys(column for row in found.rows for column in row))
    right = _right_column(found, columns, expected)
    content = _content(
        found,
        [list(row.values()) if len(row) == len(columns) else dict(row) for row in found.rows],
        columns,
        right,
    )
    others = tuple(column for column in columns if column != right)
    labels = _label_columns(found.rows, others)
    tasks: list[Task] = []
    used: set[str] = set()
    for place, row in enumerate(found.rows):
        given = row.get("id")
        named = str(given) if given is not None and str(given) and str(given) not in used else str(place)
        used.add(named)
        tasks.append(
            Task(
                named,
                input={column: row.get(column) for column in others},
                target=row.get(right) if right else None,
                metadata={ROW: place},
                labels={column: _label(row[column]) for column in labels if row.get(column) is not None},
            )
        )
    return TaskRows(_named(found, content), others, right, tasks, content, tuple(found.notes))


def _content(found: _Found, rows: list[Any], *more: Any) -> str:
    """Return the digest of rows. Raises UsageError that names the cell without a JSON form."""
    try:
        return digest([*more, rows])
    except (ValueError, TypeError):
        for place, row in enumerate(found.rows):
            cells = row.items() if isinstance(row, Mapping) else (("input", row.input), ("target", row.target))
            for column, value in cells:
                try:
                    digest(value)
                except (ValueError, TypeError) as error:
                    raise UsageError(f"row {place} of {found.what}, column {column!r}: {error}") from error
        raise


def _right_column(found: _Found, columns: Sequence[str], expected: str | None) -> str:
    if expected is not None:
        if expected and expected not in columns:
            near = nearest(expected, columns)
            hint = f"; did you mean {near!r}?" if near else ""
            raise UsageError(f"{found.what} has no column {expected!r}; it has {', '.join(columns)}{hint}")
        return expected
    usual = [column for column in EXPECTED if column in columns]
    if len(usual) > 1:
        names = " and ".join(map(repr, usual))
        raise UsageError(
            f"{found.what} has the columns {names}; which one holds the right answer? Name it with expected="
        )
    if usual:
        found.notes.append(f"the right answer is column {usual[0]!r}; expected= names another")
    return usual[0] if usual else ""


def _label_columns(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[str]:
    """Return the columns to take results apart by: short scalars with at most a few values for many rows."""
    found = []
    for column in columns:
        values = {
            row[column] if isinstance(row.get(column), str | int | float | bool | None) else ...
            for row in rows
            if column in row
        }
        short = all(value is not ... and len(str(value)) <= LONGEST_LABEL for value in values)
        if column != "id" and short and len(values) <= max(MOST_LABELS, len(rows) // 10):
            found.append(column)
    return found


def _label(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _named(found: _Found, content: str) -> str:
    return found.name or f"rows-{content[:6]}"
