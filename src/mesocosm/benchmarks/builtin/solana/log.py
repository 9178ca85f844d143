"""Recorded runs of the gym: its metrics, or the transactions themselves."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.builtin.solana.reward import GYM_PAIRS, Reward, Unusable, rewarded
from mesocosm.benchmarks.items import ItemsFile, ProgramItem
from mesocosm.benchmarks.result import MOST_BYTES, ResultFileError, ResultValue, read_document
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.score import Score

_LISTS = ("transactions", "transaction_log", "txs")
_DISCOVERED = ("final_programs", "programs_discovered", "instructions_by_program")


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
    claimed = document.get("final_reward") if isinstance(document, Mapping) else None
    if claimed is not None and claimed != found.gym:
        return _unverified(f"it claims a reward of {claimed!r:.40}, but its transactions have {found.gym} pairs")
    return ResultValue(found.score, explanation=found.explanation), scores(found)


def scores(found: Reward) -> tuple[Score, ...]:
    """Return the points of a run, in total and by origin."""
    parts = {
        "reward": found.total,
        "template_reward": found.template,
        "model_reward": found.model,
        "gym_reward": found.gym,
    }
    return tuple(Score(name, float(value)) for name, value in parts.items())


def _claimed(document: Mapping[str, Any]) -> tuple[ResultValue, tuple[Score, ...]]:
    """Judge metrics of the gym by the pairs that they list, with which all other values in them must agree.

    They say nothing of who earned a pair, so points by origin are left out.
    """
    reward = document.get("final_reward")
    if reward is None:
        return ResultValue(None, Cause.VALUE_MISSING, "it has no final_reward"), ()
    if isinstance(reward, bool) or not isinstance(reward, int | float) or reward != reward // 1 or reward < 0:
        return ResultValue(
            None, Cause.VALUE_UNUSABLE, f"final_reward is {reward!r:.40}, which is not a number of points"
        ), ()
    if reward > GYM_PAIRS:
        return _unverified(f"it claims {reward:g} points, and there are {GYM_PAIRS}")
    discovered = _discovered(document)
    if discovered is None:
        return _unverified(
            f"it claims {reward:g} points, and lists no pairs ({', '.join(_DISCOVERED)}) to check them by; score its "
            "transactions instead"
        )
    if contradiction := _contradiction(document, reward):
        return _unverified(f"it claims {reward:g} points, but {contradiction}")
    try:
        found = rewarded([{"instructions": discovered}])
    except Unusable as error:
        return ResultValue(None, Cause.VALUE_UNUSABLE, str(error)), ()
    if found.gym != reward:
        return _unverified(f"it claims {reward:g} points, but lists {found.gym} pairs")
    totals = (Score("reward", float(found.total)), Score("gym_reward", float(found.gym)))
    return ResultValue(found.score, explanation=found.explanation), totals


def _contradiction(document: Mapping[str, Any], reward: float) -> str:
    """Return which other value of the metrics disagrees with the reward, or an empty string."""
    course = document.get("cumulative_rewards")
    if isinstance(course, list) and course and course[-1] != reward:
        return f"its rewards end at {course[-1]!r:.40}"
    given = {name: document.get(name) for name in ("template_reward", "model_reward")}
    origin = {name: float(value) for name, value in given.items() if isinstance(value, int | float)}
    parts = sum(origin.values())
    if not all(0 <= value <= reward for value in origin.values()) or (len(origin) == 2 and parts != reward):
        return f"{parts:g} from templates and model"
    return ""


def _discovered(document: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the pairs that the metrics list, as instructions; None if they list none."""
    for name in _DISCOVERED:
        programs = document.get(name)
        if isinstance(programs, Mapping) and programs and all(isinstance(found, list) for found in programs.values()):
            return [
                {"programId": program, "discriminator": int(byte) if str(byte).isdecimal() else byte}
                for program, found in programs.items()
                for byte in found
            ]
    return None


def _unverified(why: str) -> tuple[ResultValue, tuple[Score, ...]]:
    return ResultValue(None, Cause.UNVERIFIED, why), ()
