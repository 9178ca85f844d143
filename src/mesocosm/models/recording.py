"""Recorded completions: read the files and find the completion of a task."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.core.foreign import read_json
from mesocosm.core.ids import digest_bytes

_TEXTS = ("completion", "response", "output", "text", "answer", "action", "calls")
_ROWS, _SEEDS = ("row", "index", "seed"), ("seed", "row", "index")
_NAMES = ("task", "task_id", "id")
_QUESTIONS = ("question", "prompt", "input")
_ANCHOR = 24
"""Number of leading characters of a question that are indexed, to find questions inside a prompt."""


@dataclass(frozen=True, slots=True)
class RecordedCompletion:
    """One recorded completion. Fields that were not recorded are None or empty. `step` and `row` count from 0."""

    text: str
    reasoning: str = ""
    seed: int | None = None
    row: int | None = None
    task: str | None = None
    step: int | None = None
    trial: int | None = None
    question: str = ""


def folded(text: str) -> str:
    """Return text normalized for comparing questions: white space and JSON escapes make no difference."""
    plain = text.replace("\\n", " ").replace("\\t", " ").replace("\\", "")
    return " ".join(plain.split())


@dataclass(slots=True)
class Recording:
    """All records of a file, indexed by seed, row, task, exact prompt, and the question that a prompt contains."""

    path: str
    count: int = 0
    by_seed: dict[int, list[RecordedCompletion]] = field(default_factory=dict)
    by_row: dict[int, list[RecordedCompletion]] = field(default_factory=dict)
    by_task: dict[str, list[RecordedCompletion]] = field(default_factory=dict)
    by_prompt: dict[str, list[RecordedCompletion]] = field(default_factory=dict)
    by_anchor: dict[str, dict[str, list[RecordedCompletion]]] = field(default_factory=dict)
    short: dict[str, list[RecordedCompletion]] = field(default_factory=dict)

    def add(self, record: RecordedCompletion) -> None:
        """Add a record to every index that applies."""
        self.count += 1
        if record.seed is not None:
            self.by_seed.setdefault(record.seed, []).append(record)
        if record.row is not None:
            self.by_row.setdefault(record.row, []).append(record)
        if record.task is not None:
            self.by_task.setdefault(record.task, []).append(record)
        if record.question:
            question = folded(record.question)
            self.by_prompt.setdefault(digest_bytes(question.encode()), []).append(record)
            if len(question) < _ANCHOR:
                self.short.setdefault(question, []).append(record)
            else:
                self.by_anchor.setdefault(question[:_ANCHOR], {}).setdefault(question, []).append(record)

    def find(
        self, seed: int | None, task: str | None, prompts: Sequence[str], row: int | None = None
    ) -> Sequence[RecordedCompletion]:
        """Return the records of a task, with all steps and trials; empty if there are none.

        Tasks without a seed are found by their row, unless its record names another task and a record names this one.
        Records found by seed or row are used if they carry no question, or if a prompt contains their question.
        Otherwise the question decides, because both may refer to other tasks in another data set. `prompts` are the
        texts that were sent, the likeliest one first.
        """
        place, index = (seed, self.by_seed) if seed is not None else (row, self.by_row)
        found = index.get(place, []) if place is not None else []
        named = self.by_task.get(task, []) if task is not None else []
        if not found or (seed is None and named and found[0].task not in {None, task}):
            found = named
        texts = [folded(prompt) for prompt in prompts]
        if found and (not found[0].question or any(folded(found[0].question) in text for text in texts)):
            return found
        return self._by_question(texts) or found

    def _by_question(self, texts: Sequence[str]) -> Sequence[RecordedCompletion]:
        for text in texts:
            exact = self.by_prompt.get(digest_bytes(text.encode()))
            if exact is not None:
                return exact
        for text in texts:
            inside = self._contained(text)
            if inside:
                return inside
        return ()

    def _contained(self, text: str) -> Sequence[RecordedCompletion]:
        """Return the records of the longest question that occurs in `text`."""
        best, found = "", []
        if self.by_anchor:
            for at in range(len(text) - _ANCHOR + 1):
                for question, records in self.by_anchor.get(text[at : at + _ANCHOR], {}).items():
                    if len(question) > len(best) and text.startswith(question, at):
                        best, found = question, records
        if not found:
            for question, records in self.short.items():
                if len(question) > len(best) and question in text:
                    best, found = question, records
        return found


def read_recording(path: Path) -> Recording:
    """Read `path`: JSON lines, a JSON list of the same objects, or a run exported as replay.

    An object names its task by `row`, `index` or `seed`, by `task`, `task_id` or `id`, or by `question`, `prompt` or
    `input` (text, or a list of messages). Where it has several of the first three, a task with a seed is found by
    `seed`, and one of a data set by `row` or `index`. Its completion is `completion`, `response`, `output`, `text`,
    `answer`, `action` or `calls`; a value that is not text is converted to JSON text. `reasoning`, `step` (from 0) and
    `trial` (from 0) are optional. Raises UsageError; problems are named by line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"the recording {path} cannot be read: {error.strerror}; check the path") from error
    recording = Recording(str(path))
    problems: list[Problem] = []
    for place, value in _values(path, data):
        record = value if isinstance(value, Problem) else _record(place, value)
        if isinstance(record, Problem):
            problems.append(record)
        else:
            recording.add(record)
    if not recording.count and not problems:
        problems.append(Problem("", "holds no completions", "record some, or check that this is the right file"))
    if problems:
        raise InvalidInput(f"recording {path}", problems)
    return recording


def _values(path: Path, data: bytes) -> Iterator[tuple[str, Any]]:
    """Yield (place, object or RecordedCompletion or Problem)."""
    whole = _whole(data)
    if isinstance(whole, dict) and "replay" in whole:
        yield from _exported(whole)
    elif isinstance(whole, list):
        yield from ((f"[{n}]", value) for n, value in enumerate(whole))
    elif path.suffix == ".json" and whole is None:
        try:
            read_json(data, large=True)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield "", Problem("", f"is not JSON: {error}", "write a list of objects, or name JSON lines .jsonl")
    else:
        for number, line in enumerate(data.split(b"\n"), 1):
            if line.strip():
                yield f"line {number}", _decoded(f"line {number}", line)


def _whole(data: bytes) -> Any:
    """Return the document, or None if it is broken or holds more than one (JSON lines)."""
    try:
        return read_json(data, large=True)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _decoded(place: str, line: bytes) -> Any:
    try:
        return read_json(line, large=True)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Problem(place, f"is not JSON: {error}", "write one JSON object a line")


def _record(place: str, value: Any) -> RecordedCompletion | Problem:
    if isinstance(value, RecordedCompletion):
        return value
    if not isinstance(value, dict):
        return Problem(place, "is not an object", 'write {"row": 0, "completion": "…"}')
    text = next((value[key] for key in _TEXTS if value.get(key) is not None), None)
    if text is None:
        return Problem(place, "has no completion", f"name it {', '.join(_TEXTS[:-1])} or {_TEXTS[-1]}")
    numbers = {key: value[key] for key in (*_SEEDS, "step", "trial") if value.get(key) is not None}
    for key, number in numbers.items():
        if not isinstance(number, int) or isinstance(number, bool):
            return Problem(f"{place}.{key}", f"is {number!r}, no whole number")
    seed, row = (next((numbers[key] for key in keys if key in numbers), None) for keys in (_SEEDS, _ROWS))
    if "row" in numbers and numbers.get("index", row) != row:
        told = f"names two rows, row {numbers['row']} and index {numbers['index']}"
        return Problem(place, told, "keep the one that counts the rows of the data from 0")
    task = next((str(value[key]) for key in _NAMES if value.get(key) is not None), None)
    question = next((_prompt(value[key]) for key in _QUESTIONS if value.get(key)), "")
    if seed is None and task is None and not question:
        return Problem(place, "does not say which task it belongs to", f"name it by {', '.join(_SEEDS + _QUESTIONS)}")
    reasoning = value.get("reasoning")
    return RecordedCompletion(
        text=_said(text),
        reasoning=reasoning if isinstance(reasoning, str) else "",
        seed=seed,
        row=row,
        task=task,
        step=numbers.get("step"),
        trial=numbers.get("trial"),
        question=question,
    )


def _said(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _prompt(value: Any) -> str:
    if isinstance(value, list):
        contents = (part.get("content") if isinstance(part, dict) else part for part in value)
        return "\n".join(content for content in contents if isinstance(content, str))
    return _said(value)


def _exported(bundle: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the turns of a replay export; an episode's seed is taken from the list of episodes."""
    replay, listed = bundle["replay"], bundle.get("episodes") or []
    if not isinstance(replay, dict) or not isinstance(listed, list):
        yield "replay", Problem("replay", "is not an object of episode to turns", "export the run again")
        return
    episodes = {episode.get("id"): episode for episode in listed if isinstance(episode, dict)}
    for number, (episode_id, turns) in enumerate(replay.items()):
        episode = episodes.get(episode_id, {})
        for turn in turns if isinstance(turns, list) else []:
            place = f"replay.{episode_id}"
            if not isinstance(turn, dict) or not isinstance(turn.get("step"), int):
                yield place, Problem(place, "has a turn without a step", "export the run again")
            elif "action" in turn:
                yield place, _turn(turn, episode, number)


def _turn(turn: Mapping[str, Any], episode: Mapping[str, Any], number: int) -> RecordedCompletion:
    seed, trial = episode.get("seed", number), episode.get("trial")
    reasoning = turn.get("reasoning")
    return RecordedCompletion(
        text=_said(turn["action"]),
        reasoning=reasoning if isinstance(reasoning, str) else "",
        seed=seed if isinstance(seed, int) else None,
        task=str(episode["task_id"]) if episode.get("task_id") else None,
        step=turn["step"] - 1,
        trial=trial if isinstance(trial, int) else None,
    )
