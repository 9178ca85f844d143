"""Find which column of a table has which role."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from mesocosm.core.failure import InvalidInput, Problem
from mesocosm.core.foreign import read_json
from mesocosm.core.reading import format_value, nearest
from mesocosm.datasets.table import DataTable
from mesocosm.rollouts.tables import Columns

__all__ = ["NoObject", "ColumnRoles", "find_roles", "open_secret"]

_USUAL = ("question", "prompt", "input", "instruction", "problem", "query", "text", "messages", "conversation")
_USUAL_TRUTH = ("answer", "solution", "target", "expected", "output", "completion", "reference", "gold")
_DEFAULTS = Columns()


class NoObject(ValueError):
    """A metadata cell is not a JSON object."""


@dataclass(frozen=True)
class ColumnRoles:
    """The columns by role; empty if no column has the role.

    With `metadata` the table is in metadata mode, else in prompt mode. `extras`: in prompt mode, columns without a role
    are metadata.
    """

    user_prompt: str
    system_prompt: str
    ground_truth: tuple[str, ...]
    metadata: str
    extras: bool = True

    @cached_property
    def taken(self) -> tuple[str, ...]:
        """The columns with a role."""
        return tuple(filter(None, (self.user_prompt, self.system_prompt, *self.ground_truth, self.metadata)))

    @property
    def mode(self) -> str:
        """`metadata` or `prompt`: what every row must provide."""
        return "metadata" if self.metadata else "prompt"

    def metadata_of(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the metadata of a row, or None if it has none. Raises NoObject."""
        if not self.metadata:
            taken = self.taken
            return {name: row[name] for name in row if name not in taken} or None if self.extras else None
        value = row.get(self.metadata)
        if isinstance(value, str) and value and not value.isspace():
            try:
                value = read_json(value)
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                raise NoObject(f"is not a JSON object: {error}") from error
        elif isinstance(value, str):
            value = None
        if value is not None and not isinstance(value, Mapping):
            raise NoObject(f"is {format_value(value)}, no JSON object")
        return dict(value) if value else None


def find_roles(table: DataTable, columns: Columns, *, extras: bool = True) -> ColumnRoles:
    """Return the roles of the existing columns. Raises InvalidInput for columns that are configured but missing."""
    there = frozenset(table.columns)
    problems = [
        _missing(table, role, name)
        for role, name, usual in (
            ("system_prompt", columns.system_prompt, _DEFAULTS.system_prompt),
            ("metadata", columns.metadata, _DEFAULTS.metadata),
        )
        if name and name not in there and name != usual
    ]
    truths = tuple(name for name in columns.ground_truth if name in there)
    if columns.ground_truth and not truths and columns.ground_truth != _DEFAULTS.ground_truth:
        problems.append(_missing(table, "ground_truth", columns.ground_truth[0]))
    metadata = columns.metadata if columns.metadata in there else ""
    named = columns.user_prompt != _DEFAULTS.user_prompt
    if columns.user_prompt not in there and (named or not metadata):
        problems.insert(0, _missing(table, "user_prompt", columns.user_prompt))
    if problems:
        raise InvalidInput(table.name, problems)
    prompt = columns.user_prompt if columns.user_prompt in there else ""
    system = columns.system_prompt if columns.system_prompt in there else ""
    return ColumnRoles(prompt, system, truths, metadata, extras)


def open_secret(table: DataTable, roles: ColumnRoles) -> str:
    """Return a warning if the workflow probably sees the ground truth as metadata; empty if not."""
    if roles.ground_truth or roles.metadata or not roles.extras:
        return ""
    there = _usual(table, _USUAL_TRUTH)
    if not there or there[0] in roles.taken:
        return ""
    mapped = f"columns = {{ ground_truth = {msgspec.json.encode(there[0]).decode()} }}"
    return f"no column is the ground truth, and the workflow sees {there[0]} as metadata; if that is it: {mapped}"


def _usual(table: DataTable, words: Sequence[str]) -> list[str]:
    """Return the columns with one of these names, ignoring case."""
    folded = {column.strip().lower(): column for column in reversed(table.columns)}
    return [folded[word] for word in words if word in folded]


def _missing(table: DataTable, role: str, name: str) -> Problem:
    usual = _usual(table, _USUAL if role == "user_prompt" else _USUAL_TRUTH if role == "ground_truth" else ())
    guess = nearest(name, table.columns) or (usual[0] if usual else "")
    given = msgspec.json.encode(guess).decode() if guess else '"…"'
    listed = ", ".join(table.columns[:12]) + (", …" if len(table.columns) > 12 else "")
    what = f"is missing; the columns are {listed}"
    return Problem(f"column {name}", what, f"map it: [dataset] columns = {{ {role} = {given} }}")
