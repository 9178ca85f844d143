"""Rows of a dataset for rollouts: a prompt, a label, metadata, and facts to slice results by."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import msgspec

from mesocosm.core.ids import canonical_json
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.table import DataTable
from mesocosm.rollouts.messages import NoPrompt, conversation
from mesocosm.rollouts.roles import ColumnRoles, NoObject, find_roles, open_secret
from mesocosm.rollouts.tables import Columns

__all__ = ["LONGEST_LABEL", "RolloutRow", "Rows", "read_rows"]

LONGEST_LABEL = 80
"""Maximum length of a text that becomes a fact to slice by."""

_encode = msgspec.json.Encoder().encode
_NO_JSON = (ValueError, TypeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class RolloutRow:
    """One row. `index` counts from 0 in the whole dataset; `prompt` holds the initial messages.

    `label` is the ground truth as text: texts verbatim, everything else as canonical JSON. `metadata` is for the
    workflow and the grader; None if there is none. `labels` are the row's scalar facts, as texts.
    """

    index: int
    prompt: tuple[dict[str, Any], ...]
    label: str | None
    metadata: dict[str, Any] | None
    labels: dict[str, str] = field(default_factory=dict)


class Rows(Sequence[RolloutRow]):
    """The rows of a table, created on access.

    `roles` maps roles to columns; `notes` are remarks for the user, for example about rows without ground truth.
    """

    def __init__(self, table: DataTable, roles: ColumnRoles) -> None:
        self.table = table
        self.roles = roles
        self.notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.table.rows)

    @overload
    def __getitem__(self, index: int) -> RolloutRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[RolloutRow]: ...
    def __getitem__(self, index: int | slice) -> RolloutRow | list[RolloutRow]:
        """Return a row by its index from 0, or several rows for a slice."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"row {index} of {len(self)}")
        row = self.table.rows[place]
        metadata = self.roles.metadata_of(row)
        return RolloutRow(place, self._prompt(row), self.label(row), metadata, self._labels(row, metadata))

    def __iter__(self) -> Iterator[RolloutRow]:
        """Yield the rows in order."""
        return (self[place] for place in range(len(self)))

    def label(self, row: Mapping[str, Any]) -> str | None:
        """Return the ground truth as text, from the first column with a value. Raises ValueError, TypeError."""
        for column in self.roles.ground_truth:
            value = row.get(column)
            if value is not None and value != "":
                return value if isinstance(value, str) else canonical_json(value).decode()
        return None

    def _prompt(self, row: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        roles = self.roles
        given = row.get(roles.user_prompt) if roles.user_prompt else None
        system = row.get(roles.system_prompt) if roles.system_prompt else None
        return conversation(given, system)

    def _labels(self, row: Mapping[str, Any], metadata: Mapping[str, Any] | None) -> dict[str, str]:
        facts = [(name, row[name]) for name in row if name not in self.roles.taken]
        if self.roles.metadata and metadata:
            facts += metadata.items()
        return {name: text for name, value in facts if (text := _fact(value))}

    def check(self) -> None:
        """Check every row. Raises InvalidInput with all problems."""
        faults = DatasetProblems()
        unlabelled: list[int] = []
        for index, row in enumerate(self.table.rows):
            self._check(index, row, faults, unlabelled)
        faults.check(self.table.name)
        seen = open_secret(self.table, self.roles)
        if seen:
            self.notes = (seen,)
        if unlabelled and self.roles.ground_truth:
            first = self.table.where(unlabelled[0])
            self.notes = (f"{len(unlabelled):,} of {len(self):,} rows have no ground truth (the first: {first})",)

    def _check(self, index: int, row: Mapping[str, Any], faults: DatasetProblems, unlabelled: list[int]) -> None:
        roles = self.roles
        before = faults.total
        try:
            metadata = roles.metadata_of(row)
            _encode(metadata)
        except _NO_JSON as error:
            said = str(error) if isinstance(error, NoObject) else f"has no JSON form: {error}"
            faults.take(self.table.problem(index, roles.metadata or _unspeakable(row), said))
        label: str | None = None
        try:
            label = self.label(row)
            unlabelled += [] if label is not None else [index]
        except _NO_JSON as error:
            faults.take(self.table.problem(index, roles.ground_truth[0], f"has no JSON form: {error}"))
        try:
            prompt = self._prompt(row)
        except NoPrompt as error:
            column = roles.system_prompt if error.system else roles.user_prompt
            faults.take(self.table.problem(index, column, str(error), error.fix))
        if faults.total > before:
            return
        column, said = self._lacks(row, prompt, label, metadata)
        if said:
            faults.take(self.table.problem(index, column, said, "fill it, or leave the row out"))

    def _lacks(
        self,
        row: Mapping[str, Any],
        prompt: Sequence[Mapping[str, Any]],
        label: str | None,
        metadata: Mapping[str, Any] | None,
    ) -> tuple[str, str]:
        """Return the column that an otherwise valid row lacks, and the problem; both are empty if it lacks nothing."""
        name = self.roles.user_prompt
        if self.roles.metadata:
            empty = metadata is None and not prompt and label is None
            return "", "holds nothing: no metadata, no prompt, no ground truth" if empty else ""
        if any(message["role"] != "system" for message in prompt):
            return "", ""
        return name, "is missing" if row.get(name) is None else "is empty"


def read_rows(table: DataTable, columns: Columns | None = None, *, extras: bool = True) -> Rows:
    """Return the checked rows of a table. Without `extras`, columns without a role are hidden from the workflow.

    A table with the metadata column is in metadata mode: the column's value (an object, or its JSON text) is passed
    verbatim, without other columns, and prompt and ground truth are optional. Any other table is in prompt mode: every
    row needs a user prompt, and the columns without a role are its metadata.
    Raises InvalidInput with the problems of all rows, each with its row (from 1), its column and a fix.
    """
    rows = Rows(table, find_roles(table, columns or Columns(), extras=extras))
    rows.check()
    return rows


def _fact(value: Any) -> str:
    """Return a scalar as a short text to slice by; empty for other values."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST_LABEL and value.isprintable() else ""
    if isinstance(value, (bool, int, float)):
        try:
            return canonical_json(value).decode()
        except (ValueError, OverflowError):
            return ""
    return ""


def _unspeakable(row: Mapping[str, Any]) -> str:
    """Return the first column with a value that JSON cannot represent."""
    for column, value in row.items():
        try:
            _encode(value)
        except _NO_JSON:
            return column
    return ""
