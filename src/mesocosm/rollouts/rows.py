"""Rows of a dataset for rollouts: a prompt, a label, metadata, and facts to slice results by."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import msgspec

from mesocosm.core.failure import InvalidInput, Problem
from mesocosm.core.foreign import read_json
from mesocosm.core.ids import canonical_json
from mesocosm.core.reading import format_value, nearest
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.splits import split_name
from mesocosm.datasets.table import DataTable
from mesocosm.rollouts.tables import Columns

__all__ = [
    "LONGEST_LABEL",
    "ORIGIN",
    "ColumnRoles",
    "RolloutRow",
    "Rows",
    "find_roles",
    "read_rows",
    "row_notes",
]

LONGEST_LABEL = 80
"""Maximum length of a text that becomes a fact to slice by."""
ORIGIN = ("origin_run", "origin_episode", "origin_task")
"""Columns that say from which episode a row was made. They are no part of the row: no workflow or grader gets them."""

ROLES = ("system", "developer", "user", "assistant", "tool", "function")

_USUAL = ("question", "prompt", "input", "instruction", "problem", "query", "text", "messages", "conversation")
_USUAL_TRUTH = ("answer", "solution", "target", "expected", "output", "completion", "reference", "gold")
_DEFAULTS = Columns()

_NO_SPLIT = 'write a name, or set split = "" among the columns, so that this one is like others'
_encode = msgspec.json.Encoder().encode
_NO_JSON = (ValueError, TypeError, OverflowError, RecursionError)


class NoPrompt(ValueError):
    """A cell is not a valid prompt: the problem, and its fix. `system`: the cell is the system prompt's."""

    def __init__(self, message: str, fix: str = "", *, system: bool = False) -> None:
        super().__init__(message)
        self.fix = fix
        self.system = system


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
    split: str = ""

    @cached_property
    def taken(self) -> tuple[str, ...]:
        """The columns with a role."""
        named = (self.user_prompt, self.system_prompt, *self.ground_truth, self.metadata, self.split)
        return tuple(filter(None, named))

    @property
    def mode(self) -> str:
        """`metadata` or `prompt`: what every row must provide."""
        return "metadata" if self.metadata else "prompt"

    def metadata_of(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the metadata of a row, or None if it has none. Raises NoObject."""
        if not self.metadata:
            taken = (*self.taken, *ORIGIN)
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
        return _conversation(given, system)

    def _labels(self, row: Mapping[str, Any], metadata: Mapping[str, Any] | None) -> dict[str, str]:
        # Of the origin only the run: hardly two rows share an episode or a task.
        taken = {*self.roles.taken, *ORIGIN[1:]} - {self.roles.split}
        facts = [(name, row[name]) for name in row if name not in taken]
        if self.roles.metadata and metadata:
            facts += metadata.items()
        return {name: text for name, value in facts if (text := _fact(value))}

    def check(self) -> None:
        """Check every row. Raises InvalidInput with all problems."""
        faults = DatasetProblems()
        unlabelled = self.find_problems(faults)
        faults.check(self.table.name)
        first = self.table.where(unlabelled[0]) if unlabelled else ""
        self.notes = row_notes(self.table, self.roles, len(self), len(unlabelled), first)

    def find_problems(self, faults: DatasetProblems) -> "array[int]":
        """Add the problems of every row to `faults`; return the indexes of the rows without ground truth."""
        unlabelled = array("Q")
        for index, row in enumerate(self.table.rows):
            self._check(index, row, faults, unlabelled)
        return unlabelled

    def _check(self, index: int, row: Mapping[str, Any], faults: DatasetProblems, unlabelled: "array[int]") -> None:
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
            if label is None:
                unlabelled.append(index)
        except _NO_JSON as error:
            faults.take(self.table.problem(index, roles.ground_truth[0], f"has no JSON form: {error}"))
        try:
            prompt = self._prompt(row)
        except NoPrompt as error:
            column = roles.system_prompt if error.system else roles.user_prompt
            faults.take(self.table.problem(index, column, str(error), error.fix))
        try:
            split_name(row.get(roles.split))
        except ValueError as error:
            faults.take(self.table.problem(index, roles.split, str(error), _NO_SPLIT))
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


def row_notes(table: DataTable, roles: ColumnRoles, rows: int, unlabelled: int, first: str) -> tuple[str, ...]:
    """Return remarks about valid rows, of which `unlabelled` have no ground truth, the first of them at `first`."""
    if unlabelled and roles.ground_truth:
        return (f"{unlabelled:,} of {rows:,} rows have no ground truth (the first: {first})",)
    seen = _open_secret(table, roles)
    return (seen,) if seen else ()


def find_roles(table: DataTable, columns: Columns, *, extras: bool = True) -> ColumnRoles:
    """Return the roles of the existing columns. Raises InvalidInput for columns that are configured but missing."""
    there = frozenset(table.columns)
    problems = [
        _missing(table, role, name)
        for role, name, usual in (
            ("system_prompt", columns.system_prompt, _DEFAULTS.system_prompt),
            ("metadata", columns.metadata, _DEFAULTS.metadata),
            ("split", columns.split, _DEFAULTS.split),
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
    split = columns.split if columns.split in there else ""
    return ColumnRoles(prompt, system, truths, metadata, extras, split)


def _open_secret(table: DataTable, roles: ColumnRoles) -> str:
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
    return Problem(
        f"column {name}",
        what,
        f"map it: [dataset] columns = {{ {role} = {given} }}, or --columns {role}={guess or '…'}",
    )


def _conversation(prompt: object, system: object) -> tuple[dict[str, Any], ...]:
    """Return the messages of a prompt (a text, or a list of messages), preceded by the system prompt's message.

    A text of only white space counts as missing. Raises NoPrompt.
    """
    first = _system(system)
    if prompt is None or (isinstance(prompt, str) and (not prompt or prompt.isspace())):
        return first
    if isinstance(prompt, str):
        return (*first, {"role": "user", "content": prompt})
    if not isinstance(prompt, Sequence) or not prompt:
        what = "an empty list" if isinstance(prompt, Sequence) else format_value(prompt)
        raise NoPrompt(f"is {what}, no text and no list of messages", 'write a text, or [{"role": …, "content": …}]')
    messages = tuple(_message(place, item) for place, item in enumerate(prompt, 1))
    if first and messages[0]["role"] in ("system", "developer"):
        raise NoPrompt("begins with a system message, and the row has a system prompt too", "keep one of the two")
    return (*first, *messages)


def _system(system: object) -> tuple[dict[str, Any], ...]:
    if system is None:
        return ()
    if not isinstance(system, str):
        raise NoPrompt(f"is {format_value(system)}, no text", system=True)
    return () if not system or system.isspace() else ({"role": "system", "content": system},)


def _message(place: int, item: object) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        raise NoPrompt(f"message {place} is {format_value(item)}, no object", 'write {"role": "user", "content": "…"}')
    # Tabular formats give every message every field; null means that the field is absent.
    message = {key: value for key, value in item.items() if value is not None or key == "content"}
    role = message.get("role")
    if role not in ROLES:
        raise NoPrompt(f"message {place} has the role {format_value(role)}", f"choose one of {', '.join(ROLES)}")
    content = message.get("content")
    if not isinstance(content, (str, list)) and not (content is None and role == "assistant"):
        raise NoPrompt(f"message {place} has the content {format_value(content)}, no text and no list of parts")
    return message


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
