"""Check a data file of any size row by row, as rollouts would read it, and describe it.

`python -m mesocosm.rollouts.dataset_check FILE FORMAT NAME COLUMNS MIB` prints a CheckedDataset as JSON. It is another
process because the file is foreign, and reading it may take minutes, or more memory than there is.
"""

import hashlib
import resource
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.failure import Incompatible, InvalidInput, Problem
from mesocosm.core.ids import canonical_json
from mesocosm.datasets.blocks import read_blocks
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.splits import split_name
from mesocosm.datasets.summary import ColumnSummary, RunningSummary
from mesocosm.datasets.table import DataTable
from mesocosm.rollouts.rows import ColumnRoles, Rows, find_roles, row_notes
from mesocosm.rollouts.tables import Columns

__all__ = ["MOST_COLUMNS", "MOST_ROWS", "PREVIEWED", "CheckedDataset", "PreviewRow", "check_dataset"]

MOST_COLUMNS = 1_000
MOST_ROWS = 20_000_000
MOST_BYTES = 5 << 30
"""Maximum size of the rows of a parquet file, which may be much smaller; of other files it is limited by their own."""
MOST_SPLITS = 100
MOST_SPANS = 10_000
PREVIEWED = 20
"""Number of rows in a preview."""

_LONGEST_NAME = 200
_LONGEST_WORDS = 1_000
_CELL = 2_000
_ROW = 64_000
"""Characters of a previewed cell and of a previewed row."""
_USUAL_ROWS = 4
_FIXES = {
    "csv": "correct the row; a cell with commas, quotes or line ends stands in double quotes",
    "jsonl": "write one JSON object per line",
    "parquet": "write the file again",
}
_encode = msgspec.json.Encoder().encode


class PreviewRow(msgspec.Struct, frozen=True):
    """One of the first rows. `cut` names the cells of which only the beginning is shown, as text."""

    cells: dict[str, Any]
    cut: tuple[str, ...] = ()


class CheckedDataset(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check. Without `faults`, every row can be played.

    `digest` covers the rows as they are played, independent of the file's format. `mode` is prompt or metadata; `roles`
    name the columns of each role. `splits` count the rows of each split; `split_spans` are the indexes of its rows, as
    the first and the one behind the last of each sequence, and empty if there are more than `MOST_SPANS`.
    `faults_total` counts all faults, of which `faults` are the first.
    """

    rows: int = 0
    digest: str = ""
    mode: str = ""
    roles: dict[str, tuple[str, ...]] = {}
    columns: tuple[ColumnSummary, ...] = ()
    duplicates: int = 0
    warnings: tuple[str, ...] = ()
    preview: tuple[PreviewRow, ...] = ()
    splits: dict[str, int] = {}
    split_spans: dict[str, tuple[int, ...]] = {}
    faults: tuple[Problem, ...] = ()
    faults_total: int = 0


def check_dataset(file: Path, kind: str, name: str = "", columns: Columns | None = None) -> CheckedDataset:
    """Return what a file holds, and everything that is wrong with it. Raise Incompatible for parquet without pyarrow.

    Memory does not depend on the size of the file, only on its longest row.
    """
    subject = name or file.name
    seen = _Reading(file, kind, subject, columns or Columns(), None)
    if seen.restart is not None:
        # A later row brought a column that changes the roles of all.
        seen = _Reading(file, kind, subject, columns or Columns(), seen.restart)
    return seen.result()


class _Reading:
    """One pass through the file; `restart` is set if the roles of the columns are others than those it began with."""

    def __init__(self, file: Path, kind: str, name: str, columns: Columns, roles: ColumnRoles | None) -> None:
        self._name = name
        self._kind = kind
        self._columns = columns
        self._roles = roles
        self._faults = DatasetProblems()
        self._summary = RunningSummary()
        self._preview: list[PreviewRow] = []
        self._notes: tuple[str, ...] = ()
        self._unlabelled = 0
        self._unlabelled_at = ""
        self._played = hashlib.sha256()
        self._bytes = 0
        self._splits: dict[str, int] = {}
        self._spans: dict[str, list[int]] = {}
        self._span_count = 0
        self.restart: ColumnRoles | None = None
        for table in read_blocks(file, kind, self._faults, name):
            if not self._take(table):
                return
        self._end()

    def _take(self, table: DataTable) -> bool:
        """Check a block; return whether to go on."""
        self._summary.add(table)
        self._notes = table.notes
        if not self._is_bounded():
            return False
        if not table.rows:
            return True
        if self._roles is None:
            self._roles = self._find_roles()
        before = self._faults.total
        first = self._summary.rows - len(table.rows)
        if len(self._preview) < PREVIEWED:
            self._preview += map(_previewed, table.rows[: PREVIEWED - len(self._preview)])
        if self._roles is None:
            return True
        rows_of = Rows(table, self._roles)
        unlabelled = rows_of.find_problems(self._faults)
        if unlabelled and not self._unlabelled:
            self._unlabelled_at = table.where(unlabelled[0])
        self._unlabelled += len(unlabelled)
        if self._faults.total == before:
            self._count_splits(table, first)
            for row in rows_of:
                text = canonical_json([row.prompt, row.label, row.metadata])
                self._played.update(text + b"\n")
                self._bytes += len(text)
        return self._is_small()

    def _is_small(self) -> bool:
        if self._kind != "parquet" or self._bytes <= MOST_BYTES:
            return True
        self._faults.add("", f"its rows have more than {MOST_BYTES / 2**30:.0f} GiB, decompressed", "split the file")
        return False

    def _count_splits(self, table: DataTable, first: int) -> None:
        """Count the splits of valid rows, of which the first has the index `first`."""
        assert self._roles is not None
        column = self._roles.split
        if not column or len(self._splits) > MOST_SPLITS:
            return
        for place, row in enumerate(table.rows, first):
            name = split_name(row.get(column))
            self._splits[name] = self._splits.get(name, 0) + 1
            spans = self._spans.setdefault(name, [])
            if spans and spans[-1] == place:
                spans[-1] = place + 1
            elif self._span_count < MOST_SPANS:
                spans += (place, place + 1)
                self._span_count += 1
            else:
                self._span_count = MOST_SPANS + 1
        if len(self._splits) > MOST_SPLITS:
            fix = 'set split = "" among the columns, if this one does not name parts of the dataset'
            self._faults.add(f"column {column}", f"names more than {MOST_SPLITS} splits", fix)

    def _is_bounded(self) -> bool:
        names = self._summary.columns
        if self._summary.rows > MOST_ROWS:
            self._faults.add("", f"has more than {MOST_ROWS:,} rows", "split the file")
        elif len(names) > MOST_COLUMNS:
            self._faults.add("header", f"has more than {MOST_COLUMNS:,} columns", "put rare ones into metadata")
        elif any(len(name) > _LONGEST_NAME for name in names):
            self._faults.add("header", f"a column has a name of more than {_LONGEST_NAME} characters", "shorten it")
        else:
            return True
        return False

    def _find_roles(self) -> ColumnRoles | None:
        try:
            return find_roles(self._header, self._columns)
        except InvalidInput:
            return None

    @property
    def _header(self) -> DataTable:
        return DataTable(self._name, tuple(self._summary.columns), (), "")

    def _end(self) -> None:
        if not self._summary.rows:
            if not self._faults.total:
                self._faults.add("", "has no rows", "add at least one")
            return
        try:
            roles = find_roles(self._header, self._columns)
        except InvalidInput as error:
            for problem in error.problems:
                self._faults.take(problem)
            return
        if roles != self._roles:
            self.restart = roles
            return
        self._notes += row_notes(self._header, roles, self._summary.rows, self._unlabelled, self._unlabelled_at)
        if self._summary.rows < _USUAL_ROWS:
            self._notes += (f"fewer than {_USUAL_ROWS} rows, which other services do not accept",)

    def result(self) -> CheckedDataset:
        """Return what was found."""
        faults = tuple(
            Problem(
                *(
                    words[:_LONGEST_WORDS]
                    for words in (problem.path, problem.message, problem.fix or _FIXES[self._kind])
                )
            )
            for problem in self._faults.first
        )
        if faults:
            return CheckedDataset(rows=self._summary.rows, faults=faults, faults_total=self._faults.total)
        assert self._roles is not None
        summary = self._summary.result(self._name, 0, "")
        return CheckedDataset(
            rows=summary.rows,
            digest=self._played.hexdigest(),
            mode=self._roles.mode,
            roles=_named(self._roles),
            columns=summary.columns,
            duplicates=summary.duplicates,
            warnings=tuple(words[:_LONGEST_WORDS] for words in (*self._notes, *summary.warnings)),
            preview=tuple(self._preview),
            splits=self._splits,
            split_spans={name: tuple(spans) for name, spans in self._spans.items() if self._span_count <= MOST_SPANS},
        )


def _named(roles: ColumnRoles) -> dict[str, tuple[str, ...]]:
    """Return the columns of each role that has some."""
    found = {
        "user_prompt": (roles.user_prompt,),
        "system_prompt": (roles.system_prompt,),
        "ground_truth": roles.ground_truth,
        "metadata": (roles.metadata,),
        "split": (roles.split,),
    }
    return {role: names for role, names in found.items() if any(names)}


def _previewed(row: Mapping[str, Any]) -> PreviewRow:
    most = max(min(_CELL, _ROW // max(len(row), 1)), 1)
    cells, cut = dict[str, Any](), []
    for name, value in row.items():
        text = value if isinstance(value, str) else _encode(value).decode()
        cells[name] = value
        if len(text) > most:
            cells[name] = text[:most]
            cut.append(name)
    return PreviewRow(cells, tuple(cut))


def _main(path: str, kind: str, name: str, columns: str, mib: str) -> int:
    limit = int(mib) << 20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    given = msgspec.json.decode(columns, type=dict[str, Any])
    truths = given.get("ground_truth")
    roles = Columns(**given) if truths is None else Columns(**{**given, "ground_truth": tuple(truths)})
    try:
        checked = check_dataset(Path(path), kind, name, roles)
    except MemoryError:
        fault = Problem(
            "", f"needs more than {mib} MiB of memory to be read", "make its rows, or its row groups, smaller"
        )
        checked = CheckedDataset(faults=(fault,), faults_total=1)
    except Incompatible as error:
        checked = CheckedDataset(
            faults=(Problem("", str(error), "ask the administrators of the server"),), faults_total=1
        )
    sys.stdout.buffer.write(_encode(checked))
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
