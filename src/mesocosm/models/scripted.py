"""`builtin/scripted:FILE`: replies read from a file, one per step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.failure import Cause, EpisodeError, InvalidInput, Problem, UsageError
from mesocosm.core.folder import from_home
from mesocosm.core.foreign import read_json
from mesocosm.core.model import ModelRequest
from mesocosm.core.ports import Model
from mesocosm.models.inprocess import InProcessModel, answering_from, spoken

OTHERS = "*"
"""Key of the replies for every seed without a key of its own."""


@dataclass(frozen=True, slots=True)
class Script:
    """The replies of a file: by seed (as text), or under `*` for all."""

    path: str
    replies: Mapping[str, Sequence[Any]]

    def reply(self, seed: int | None, step: int) -> Any:
        """Return reply number `step` (from 0) for a seed.

        Raises EpisodeError if the script is too short; the last reply is not repeated, because that would hide a
        mistake.
        """
        replies = self.replies.get(str(seed), self.replies.get(OTHERS))
        if replies is None:
            known = ", ".join(list(self.replies)[:10])
            raise EpisodeError(
                Cause.MODEL_REJECTED,
                f"builtin/scripted: {self.path} has no replies for seed {seed}; it has {known or 'none at all'}. "
                f'Add the seed, or "{OTHERS}" for all others',
            )
        if step >= len(replies):
            raise EpisodeError(
                Cause.MODEL_REJECTED,
                f"builtin/scripted: {self.path} has {len(replies)} replies for seed {seed}, but the episode goes on to "
                f"action {step + 1}; add replies or lower the step limit",
            )
        return replies[step]


def open_scripted(name: str, file: str) -> Model:
    """Return the model that plays the script in `file`.

    A text reply is returned unchanged; any other JSON value is treated as an action. Raises UsageError if the file is
    missing or malformed.
    """
    if not file:
        raise UsageError("builtin/scripted needs a file with its replies; write builtin/scripted:replies.json")
    path = from_home(file)
    script = read_script(path)

    async def answer(request: ModelRequest) -> str:
        view = request.view
        reply = script.reply(view.seed if view is not None else None, view.step if view is not None else 0)
        return reply if isinstance(reply, str) and not _needs_wrapping(reply, request) else spoken(reply, request)

    return InProcessModel(name, answer, answering_from(path))


def _needs_wrapping(reply: str, request: ModelRequest) -> bool:
    return request.schema is not None and not reply.lstrip().startswith("{")


def read_script(path: Path) -> Script:
    """Return the script in `path`.

    `.json` holds a list of replies or an object from seed to list, `.jsonl` one JSON value per line, and any other file
    plain text with one reply per line. Raises UsageError, with line numbers for formats that have lines.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"the script {path} cannot be read: {error.strerror}; check the path") from error
    if path.suffix == ".json":
        return Script(str(path), _from_json(path, data))
    if path.suffix == ".jsonl":
        return Script(str(path), {OTHERS: _from_lines(path, data)})
    try:
        return Script(str(path), {OTHERS: data.decode().splitlines()})
    except UnicodeDecodeError as error:
        raise UsageError(f"the script {path} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def _from_json(path: Path, data: bytes) -> Mapping[str, Sequence[Any]]:
    try:
        value = read_json(data, large=True)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the script {path} is not JSON: {error}") from error
    if isinstance(value, list):
        return {OTHERS: value}
    if not isinstance(value, dict):
        raise UsageError(
            f"the script {path} holds {value!r}; it must be a list of replies or an object of seed to list"
        )
    problems = [
        Problem(seed, f"is not a list but {type(replies).__name__}", "write the replies of a seed as a list")
        for seed, replies in value.items()
        if not isinstance(replies, list)
    ]
    problems += [
        Problem(seed, "is not a seed", f'use whole numbers, or "{OTHERS}" for all others')
        for seed in value
        if seed != OTHERS and not seed.lstrip("-").isdigit()
    ]
    if problems:
        raise InvalidInput(f"script {path}", problems)
    return value


def _from_lines(path: Path, data: bytes) -> list[Any]:
    replies, problems = [], []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            replies.append(read_json(line, large=True))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problems.append(Problem(f"line {number}", str(error), "write one JSON value a line"))
    if problems:
        raise InvalidInput(f"script {path}", problems)
    return replies
