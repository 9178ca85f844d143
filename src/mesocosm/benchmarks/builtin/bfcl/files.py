"""The leaderboard's data files, and the items in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from mesocosm.benchmarks.builtin.bfcl.categories import CATEGORIES, Category
from mesocosm.benchmarks.dataset import DatasetRows, read_rows
from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.message import Message
from mesocosm.datasets.hub import HubDataset

REPOSITORY = "gorilla-llm/Berkeley-Function-Calling-Leaderboard"
KEYS = "possible_answer"

Functions = dict[str, Any] | list[dict[str, Any]]
Key = Annotated[dict[str, dict[str, Any]], msgspec.Meta(min_length=1)]
"""One call of an answer key: accepted values of each parameter, under the name of the function."""


@dataclass(frozen=True, slots=True)
class Item:
    """One question: its messages, the offered functions, and the answer key (empty without one)."""

    id: str
    messages: Sequence[Message]
    functions: Sequence[Mapping[str, Any]]
    keys: Sequence[Mapping[str, Mapping[str, Sequence[Any]]]]


def available(folder: Path | None) -> tuple[Category, ...]:
    """Return the categories whose files are in the folder; without a folder, all. Raises UsageError."""
    if folder is None:
        return CATEGORIES
    found = tuple(category for category in CATEGORIES if _file(category, folder) is not None)
    if not found:
        raise UsageError(f"{folder} holds no data of bfcl; expected files such as {CATEGORIES[0].files[0]}")
    return found


def read_items(category: Category, folder: Path | None, revision: str) -> tuple[list[Item], str]:
    """Return the items of a category and the digest of their files; without a folder, from `revision` on the hub.

    Raises UsageError, InvalidInput, Incompatible.
    """
    file = None if folder is None else _file(category, folder)
    if folder is not None and file is None:
        raise UsageError(f"{folder} has no category {category.name} of bfcl; expected {' or '.join(category.files)}")
    asked = _rows(file, category.files[-1], revision)
    if category.expects != "calls":
        return [_item(row, (), category) for row in asked.rows], asked.content
    key_file = None if file is None else file.parent / KEYS / file.name
    if key_file is not None and not key_file.is_file():
        raise UsageError(f"the answer key {key_file} of bfcl is missing")
    answers = _rows(key_file, f"{KEYS}/{category.files[-1]}", revision)
    keys = {row.get("id"): row.get("ground_truth") for row in answers.rows}
    return [_item(row, keys.get(row.get("id")), category) for row in asked.rows], digest(
        [asked.content, answers.content]
    )


def _file(category: Category, folder: Path) -> Path | None:
    return next((folder / name for name in category.files if (folder / name).is_file()), None)


def _rows(file: Path | None, name: str, revision: str) -> DatasetRows:
    return read_rows("bfcl", file, HubDataset(REPOSITORY, revision, (name,)))


def _item(row: Mapping[str, Any], keys: Any, category: Category) -> Item:
    """Return the item of a row. Raises InvalidInput for an invalid row."""
    try:
        (messages,) = msgspec.convert(row["question"], tuple[tuple[Message, ...], ...])
        functions = msgspec.convert(row["function"], Functions)
        sound = [_listed(key) for key in msgspec.convert(keys, list[Key])]
        return Item(str(row["id"]), messages, _named(functions, category), sound)
    except (KeyError, ValueError) as error:
        problem = Problem(str(row.get("id", "?")), f"is not an item of the usual form: {error}")
        raise InvalidInput(f"bfcl, category {category.name}", [problem]) from error


def _named(functions: Functions, category: Category) -> Sequence[Mapping[str, Any]]:
    """Return the functions as a list; it may be empty only in categories where no call is right."""
    listed = [functions] if isinstance(functions, dict) else functions
    if not all(isinstance(function.get("name"), str) for function in listed):
        raise ValueError("a function without a name")
    if not listed and category.expects != "none":
        raise ValueError("no functions")
    return listed


def _listed(key: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Sequence[Any]]]:
    """Return the first call of a key, each parameter with a list of values; the checker supports one call per key."""
    name, accepted = next(iter(key.items()))
    return {name: {one: values if isinstance(values, list) else [values] for one, values in accepted.items()}}
