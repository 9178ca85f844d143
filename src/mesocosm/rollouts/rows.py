"""Rows of a dataset as rollouts take them: a prompt, a label, metadata, and facts to slice results by."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import msgspec

from mesocosm.core.ids import canonical_json
from mesocosm.datasets.faults import Faults
from mesocosm.datasets.table import Table
from mesocosm.rollouts.messages import NoPrompt, conversation
from mesocosm.rollouts.roles import NoObject, Roles, find_roles
from mesocosm.rollouts.tables import Columns

__all__ = ["LONGEST_LABEL", "Row", "Rows", "read_rows"]

LONGEST_LABEL = 80
"""Longer texts are no facts to slice by."""

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `index` counts from 0 in the whole dataset; `prompt` are the initial messages.

    `label` is the ground truth as text: texts verbatim, everything else as canonical JSON. `metadata` is what the
    workflow and the grader are told beside; None without any. `labels` are the row's scalar facts, as texts.
    """

    index: int
    prompt: tuple[dict[str, Any], ...]
    label: str | None
    metadata: dict[str, Any] | None
    labels: dict[str, str] = field(default_factory=dict)


class Rows(Sequence[Row]):
    """The rows of a table, each made when it is asked for; all were checked before.

    `roles` says which column plays which role, `notes` what a reader must know: rows without ground truth, say.
    """

    def __init__(self, table: Table, roles: Roles) -> None:
        self.table = table
        self.roles = roles
        self.notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.table.rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        """Return a row by its place from 0, or several."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"row {index} of {len(self)}")
        row = self.table.rows[place]
        metadata = self.roles.metadata_of(row)
        return Row(place, self._prompt(row), self.label(row), metadata, self._labels(row, metadata))

    def __iter__(self) -> Iterator[Row]:
        """Yield every row in its order."""
        return (self[place] for place in range(len(self)))

    def label(self, row: Mapping[str, Any]) -> str | None:
        """Return the ground truth as text: of the first column that has one. Raises ValueError, TypeError."""
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
        """Look at every row. Raises InvalidInput with all problems."""
        faults = Faults()
        unlabelled: list[int] = []
        for index, row in enumerate(self.table.rows):
            self._check(index, row, faults, unlabelled)
        faults.check(self.table.name)
        if unlabelled and self.roles.ground_truth:
            first = self.table.where(unlabelled[0])
            self.notes = (f"{len(unlabelled):,} of {len(self):,} rows have no ground truth (the first: {first})",)

    def _check(self, index: int, row: Mapping[str, Any], faults: Faults, unlabelled: list[int]) -> None:
        roles = self.roles
        metadata: Any = None
        try:
            metadata = roles.metadata_of(row)
            _encode(metadata)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            column = roles.metadata or _unspeakable(row)
            faults.take(self.table.problem(index, column, _sentence(error)))
        label: str | None = None
        try:
            label = self.label(row)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            faults.take(self.table.problem(index, roles.ground_truth[0], f"has no JSON form: {error}"))
        if label is None:
            unlabelled.append(index)
        try:
            prompt = self._prompt(row)
        except NoPrompt as error:
            column = roles.system_prompt if error.system else roles.user_prompt
            faults.take(self.table.problem(index, column, str(error), error.fix))
            return
        if not roles.metadata:
            if not any(message["role"] != "system" for message in prompt):
                what = "is missing" if row.get(roles.user_prompt) is None else "is empty"
                faults.take(self.table.problem(index, roles.user_prompt, what, "fill it, or leave the row out"))
        elif metadata is None and not prompt and label is None:
            what = "holds nothing: no metadata, no prompt, no ground truth"
            faults.take(self.table.problem(index, "", what, "fill it, or leave the row out"))


def read_rows(table: Table, columns: Columns | None = None, *, extras: bool = True) -> Rows:
    """Return the rows of a table. Without `extras`, columns without a role are kept from the workflow.

    A table with the metadata column is in metadata mode: its value (an object, or its JSON text) is passed verbatim,
    nothing is mixed in, and prompt and ground truth are optional. Any other table is in prompt mode: every row has a
    user prompt, and the columns without a role are its metadata.
    Raises InvalidInput with the problems of all rows, each with its row (from 1), its column and how to mend it.
    """
    rows = Rows(table, find_roles(table, columns or Columns(), extras=extras))
    rows.check()
    return rows


def _fact(value: Any) -> str:
    """Return a scalar as a short text to slice by; empty for what is none."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST_LABEL and value.isprintable() else ""
    if isinstance(value, (bool, int, float)):
        try:
            return canonical_json(value).decode()
        except (ValueError, OverflowError):
            return ""
    return ""


def _unspeakable(row: Mapping[str, Any]) -> str:
    """Return the first column whose value has no JSON form."""
    for column, value in row.items():
        try:
            _encode(value)
        except (ValueError, TypeError, OverflowError, RecursionError):
            return column
    return ""


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, NoObject) else f"has no JSON form: {error}"
