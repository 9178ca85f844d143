"""Recorded runs of the gym: its metrics, or the transactions themselves."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.builtin.solana.reward import CATALOGUE, REACHABLE, Reward, Unusable, rewarded
from mesocosm.benchmarks.items import ItemsFile, ProgramItem
from mesocosm.benchmarks.result import MOST_BYTES, ResultFileError, ResultValue, read_document
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.score import Score

_LISTS = ("transactions", "transaction_log", "txs")
_DISCOVERED = ("final_programs", "programs_discovered")


def read_log(path: Path) -> ItemsFile:
    """Return one item for each recorded run at `path`. Raises UsageError if there is none."""
    files = (
        sorted(file for ending in ("json", "jsonl") for file in path.rglob(f"*.{ending}")) if path.is_dir() else [path]
    )
    if not files:
        raise UsageError(f"solana: {path} holds no .json or .jsonl file; name a transaction log or metrics of the gym")
    return ItemsFile([_item(number, file, path) for number, file in enumerate(files, 1)])


def _item(number: int, file: Path, root: Path) -> ProgramItem:
    name = file.relative_to(root).as_posix() if file != root else file.name
    try:
        document = _document(file)
    except ResultFileError as error:
        return ProgramItem(name, number, ResultValue(None, Cause.VALUE_UNUSABLE, str(error)))
    reading, further = judged(document)
    known = {key: document[key] for key in ("model", "run_id") if isinstance(document, Mapping) and key in document}
    return ProgramItem(name, number, reading, {"file": name, **known}, output=reading.value, further=further)


def _document(file: Path) -> Any:
    """Return the JSON of a file, or the list of its lines. Raises ResultFileError."""
    if file.suffix != ".jsonl":
        return read_document(file)
    if file.stat().st_size > MOST_BYTES:
        raise ResultFileError(f"it is larger than {MOST_BYTES >> 20} MiB")
    try:
        return [json.loads(line) for line in file.read_bytes().splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise ResultFileError(f"a line of it is not JSON: {error}") from error


def judged(document: Any) -> tuple[ResultValue, tuple[Score, ...]]:
    """Return the score of a recorded run, and its points by origin. Untrustworthy values are missing."""
    transactions = document
    if isinstance(document, Mapping):
        transactions = next((document[name] for name in _LISTS if isinstance(document.get(name), list)), None)
        if transactions is None:
            return _claimed(document)
    if not isinstance(transactions, list) or not transactions:
        return ResultValue(None, Cause.VALUE_MISSING, "there are neither transactions nor a final reward in it"), ()
    try:
        found = rewarded(transactions)
    except Unusable as error:
        return ResultValue(None, Cause.VALUE_UNUSABLE, str(error)), ()
    if found.total > CATALOGUE:
        return _unverified(f"its transactions earn {found.total} points, and there are {CATALOGUE}")
    claimed = document.get("final_reward") if isinstance(document, Mapping) else None
    if claimed is not None and claimed != found.total:
        return _unverified(f"it claims a reward of {claimed!r:.40}, but its transactions earn {found.total}")
    return ResultValue(found.score), scores(found)


def scores(found: Reward) -> tuple[Score, ...]:
    """Return the points of a run, in total and by origin."""
    parts = {"reward": found.total, "template_reward": found.template, "model_reward": found.model}
    return tuple(Score(name, float(value)) for name, value in parts.items())


def _claimed(document: Mapping[str, Any]) -> tuple[ResultValue, tuple[Score, ...]]:
    """Judge metrics of the gym: the reward must agree with all other values in them."""
    reward = document.get("final_reward")
    if reward is None:
        return ResultValue(None, Cause.VALUE_MISSING, "it has no final_reward"), ()
    if isinstance(reward, bool) or not isinstance(reward, int | float) or reward != reward // 1 or reward < 0:
        return ResultValue(
            None, Cause.VALUE_UNUSABLE, f"final_reward is {reward!r:.40}, which is not a number of points"
        ), ()
    if reward > CATALOGUE:
        return _unverified(f"it claims {reward:g} points, and there are {CATALOGUE}")
    discovered = _discovered(document)
    if discovered is not None and discovered != reward:
        return _unverified(f"it claims {reward:g} points, but lists {discovered} pairs")
    course = document.get("cumulative_rewards")
    if isinstance(course, list) and course and course[-1] != reward:
        return _unverified(f"it claims {reward:g} points, but its rewards end at {course[-1]!r:.40}")
    given = {name: document.get(name) for name in ("template_reward", "model_reward")}
    origin = {name: float(value) for name, value in given.items() if isinstance(value, int | float)}
    parts = sum(origin.values())
    if not all(0 <= value <= reward for value in origin.values()) or (len(origin) == 2 and parts != reward):
        return _unverified(f"it claims {reward:g} points, but {parts:g} from templates and model")
    further = [Score("reward", float(reward)), *(Score(name, value) for name, value in origin.items())]
    return ResultValue(min(reward / REACHABLE, 1.0)), tuple(further)


def _discovered(document: Mapping[str, Any]) -> int | None:
    """Return how many pairs the metrics list, or None if they do not list pairs."""
    for name in _DISCOVERED:
        programs = document.get(name)
        if isinstance(programs, Mapping) and programs and all(isinstance(found, list) for found in programs.values()):
            return sum(len(set(map(str, found))) for found in programs.values())
    return None


def _unverified(why: str) -> tuple[ResultValue, tuple[Score, ...]]:
    return ResultValue(None, Cause.UNVERIFIED, why), ()
