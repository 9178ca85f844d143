"""Add rows to a dataset: in the columns that it has, each row once, every old row as it was.

`python -m mesocosm.rollouts.added_rows FILE FORMAT COLUMNS ROWS OUTPUT MIB` writes the dataset with the rows of the
file ROWS (lines of NewRow as JSON) to OUTPUT and prints an AddedRows as JSON. FILE is empty for a new dataset.
"""

import hashlib
import resource
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from mesocosm.core.failure import InvalidInput, Problem
from mesocosm.core.ids import canonical_json
from mesocosm.datasets.blocks import read_blocks
from mesocosm.datasets.content import encoding_of
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.table import DataTable
from mesocosm.rollouts.rows import ORIGIN, ColumnRoles, Rows, find_roles
from mesocosm.rollouts.tables import Columns

__all__ = ["AddedRows", "NewRow", "RowWithoutPlace", "add_rows", "columns_from", "new_columns", "table_row"]

_HEAD = 4
_COPIED = 1 << 20
_ROLES = frozenset({"user_prompt", "system_prompt", "ground_truth", "label", "metadata", *ORIGIN})
_encode = msgspec.json.Encoder().encode


class NewRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A row to add: the initial messages, the label, the metadata, its split, and the columns of its origin."""

    prompt: tuple[dict[str, Any], ...] = ()
    label: str | None = None
    metadata: dict[str, Any] | None = None
    split: str = ""
    origin: dict[str, str] = {}


class AddedRows(msgspec.Struct, frozen=True):
    """What came of adding rows. `rows` are in the dataset now, `added` of them new; `duplicates` were there already.

    `faults` are rows that have no place in the columns of the dataset; then nothing was written.
    """

    rows: int = 0
    added: int = 0
    duplicates: int = 0
    faults: tuple[Problem, ...] = ()


class RowWithoutPlace(ValueError):
    """A row does not fit into the columns of a dataset."""


def new_columns(columns: Columns, rows: Iterable[NewRow]) -> ColumnRoles:
    """Return the columns of a new dataset that holds `rows`: those named in `columns`.

    Metadata becomes columns of its own, unless some row has no prompt or uses the name of a role.
    """
    named = (columns.user_prompt, columns.system_prompt, *columns.ground_truth, columns.metadata, columns.split)
    taken = _ROLES.union(named)
    plain = True
    for row in rows:
        plain = plain and _is_asked(row) and taken.isdisjoint(row.metadata or {})
    metadata = "" if plain else columns.metadata
    return ColumnRoles(columns.user_prompt, columns.system_prompt, columns.ground_truth, metadata, split=columns.split)


def table_row(row: NewRow, roles: ColumnRoles) -> dict[str, Any]:
    """Return a row in the columns of a dataset. Raises RowWithoutPlace if they would not give it back as it is."""
    if not roles.metadata and not _is_asked(row):
        raise RowWithoutPlace("has no prompt, and every row of the dataset has one")
    system, prompt = _split(row.prompt) if roles.system_prompt else (None, row.prompt)
    given = (
        ("system prompt", roles.system_prompt, system),
        ("prompt", roles.user_prompt, _text(prompt) if prompt else None),
        ("ground truth", next(iter(roles.ground_truth), ""), row.label),
        ("split", roles.split, row.split or None),
    )
    if homeless := next((what for what, column, value in given if value is not None and not column), ""):
        raise RowWithoutPlace(f"has a {homeless}, and the dataset has no column for it")
    cells = {column: value for _, column, value in given if value is not None} | _metadata(row, roles)
    try:
        (back,) = _keys(DataTable("", (), (cells,), ""), roles)
    except ValueError as error:
        raise RowWithoutPlace(str(error)) from error
    if back != _key(row.prompt, row.label, row.metadata):
        raise RowWithoutPlace("would be another row in the columns of the dataset")
    return {**cells, **row.origin}


def _metadata(row: NewRow, roles: ColumnRoles) -> dict[str, Any]:
    """Return the cells with the metadata of a row. Raises RowWithoutPlace."""
    if roles.metadata:
        return {roles.metadata: row.metadata or {}}
    found = row.metadata or {}
    if taken := sorted(found.keys() & {*roles.taken, *ORIGIN}):
        raise RowWithoutPlace(f"has {taken[0]!r} in its metadata, which is a column of another role in the dataset")
    return found


def add_rows(file: Path | None, kind: str, columns: Columns, rows: Iterable[NewRow], output: IO[bytes]) -> AddedRows:
    """Write the rows of a dataset and then those of `rows` that it lacks to `output`, as JSON lines.

    `kind` is the format of `file`; without a file it is a new dataset. JSON lines are copied as they are. Raises
    InvalidInput if the file cannot be read, Incompatible for parquet without pyarrow.
    """
    new: dict[bytes, NewRow] = {}
    given = 0
    for row in rows:
        given += 1
        new.setdefault(_key(row.prompt, row.label, row.metadata), row)
    before = 0
    if file is None:
        roles = new_columns(columns, new.values())
    else:
        before, roles = _copy(file, kind, columns, new, output)
    cells: list[dict[str, Any]] = []
    faults = []
    for place, row in enumerate(new.values(), 1):
        try:
            cells.append(table_row(row, roles))
        except RowWithoutPlace as error:
            where = row.origin.get(ORIGIN[1], "")
            fix = "add it to a new dataset, or to one with a metadata column"
            faults.append(Problem(f"episode {where}" if where else f"new row {place}", str(error), fix))
    if faults:
        return AddedRows(before, 0, given - len(new), tuple(faults[:20]))
    lines = _uniform(cells, roles) if file is None else iter(cells)
    output.writelines(_encode(line) + b"\n" for line in lines)
    return AddedRows(before + len(new), len(new), given - len(new))


def columns_from(text: str) -> Columns:
    """Return the roles of columns from their JSON."""
    given = msgspec.json.decode(text, type=dict[str, Any])
    truths = given.get("ground_truth")
    return Columns(**given) if truths is None else Columns(**{**given, "ground_truth": tuple(truths)})


def _copy(
    file: Path, kind: str, columns: Columns, new: dict[bytes, NewRow], output: IO[bytes]
) -> tuple[int, ColumnRoles]:
    """Write the rows of a file, remove from `new` those that it has, and return their number and the columns."""
    with file.open("rb") as source:
        verbatim = kind == "jsonl" and encoding_of(file.name, source.read(_HEAD)) != "utf-16"
        source.seek(0)
        last = b"\n"
        while verbatim and (piece := source.read(_COPIED)):
            output.write(piece)
            last = piece[-1:]
        if last != b"\n":
            output.write(b"\n")
    roles = _roles(file, kind, columns)
    count = 0
    for table in _blocks(file, kind):
        for key in _keys(table, roles):
            new.pop(key, None)
        if not verbatim:
            output.writelines(_encode(row) + b"\n" for row in table.rows)
        count += len(table.rows)
    return count, roles


def _roles(file: Path, kind: str, columns: Columns) -> ColumnRoles:
    """Return the roles that the columns of a file have; those of roles that it does not use yet are free to be used."""
    names = dict.fromkeys(name for table in _blocks(file, kind) for name in table.columns)
    roles = find_roles(DataTable(file.name, tuple(names), (), ""), columns)
    return ColumnRoles(
        roles.user_prompt or columns.user_prompt,
        roles.system_prompt or columns.system_prompt,
        roles.ground_truth or columns.ground_truth,
        roles.metadata,
        split=roles.split or columns.split,
    )


def _blocks(file: Path, kind: str) -> Iterator[DataTable]:
    faults = DatasetProblems()
    for table in read_blocks(file, kind, faults):
        faults.check(file.name)
        yield table
    faults.check(file.name)


def _keys(table: DataTable, roles: ColumnRoles) -> Iterator[bytes]:
    """Yield the keys of rows. Raises ValueError for an invalid row."""
    for row in Rows(table, roles):
        yield _key(row.prompt, row.label, row.metadata)


def _key(prompt: Sequence[Mapping[str, Any]], label: str | None, metadata: Mapping[str, Any] | None) -> bytes:
    """Return what is equal for rows of which workflow and grader get the same."""
    return hashlib.sha256(canonical_json([prompt, label, metadata or None])).digest()


def _is_asked(row: NewRow) -> bool:
    return any(message.get("role") != "system" for message in row.prompt)


def _split(prompt: Sequence[dict[str, Any]]) -> tuple[str | None, Sequence[dict[str, Any]]]:
    """Return the system prompt, if the messages begin with one that is only text, and the rest."""
    first = prompt[0] if prompt else {}
    text = first.get("content")
    if first.keys() == {"role", "content"} and first["role"] == "system" and isinstance(text, str) and text.strip():
        rest = prompt[1:]
        if not rest or rest[0].get("role") not in ("system", "developer"):
            return text, rest
    return None, prompt


def _text(prompt: Sequence[dict[str, Any]]) -> Any:
    """Return a prompt as a text if it is one message of the user, else as a list of messages."""
    only = prompt[0]
    text = only.get("content")
    if len(prompt) == 1 and only.keys() == {"role", "content"} and only["role"] == "user" and isinstance(text, str):
        return text if text.strip() else list(prompt)
    return list(prompt)


def _uniform(rows: Sequence[dict[str, Any]], roles: ColumnRoles) -> Iterator[dict[str, Any]]:
    """Yield the rows of a new dataset, all with the columns of roles that any of them has, in one order."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    names.sort(key=lambda name: (name in ORIGIN, name not in roles.taken))
    for row in rows:
        yield {name: row.get(name) for name in names if name in row or name in roles.taken}


def _main(file: str, kind: str, columns: str, rows: str, output: str, mib: str) -> int:
    limit = int(mib) << 20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    lines = Path(rows).read_bytes().splitlines()
    given = (msgspec.json.decode(line, type=NewRow) for line in lines)
    fault: Problem | None = None
    try:
        with Path(output).open("wb") as target:
            found = add_rows(Path(file) if file else None, kind, columns_from(columns), given, target)
    except InvalidInput as error:
        fault = error.problems[0]
    except MemoryError:
        fault = Problem("", f"needs more than {mib} MiB of memory to be read", "make its rows smaller")
    sys.stdout.buffer.write(_encode(found if fault is None else AddedRows(faults=(fault,))))
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
