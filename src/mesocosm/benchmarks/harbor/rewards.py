"""Rewards that a verifier leaves: reward.json, an object of finite numbers, before reward.txt, one number."""

import json
import math
from pathlib import Path

REWARD = "reward"
JSON, TEXT = "reward.json", "reward.txt"
_MOST_BYTES = 1024 * 1024
_MOST_REWARDS = 200
_LONGEST = 80


class NoReward(Exception):
    """There is no usable reward; the message says why."""


def read_rewards(folder: Path) -> dict[str, float]:
    """Return the rewards in a copy of /logs/verifier. Raises NoReward."""
    for name in (JSON, TEXT):
        place = folder / name
        if place.is_symlink():
            raise NoReward(f"{name} is a link")
        if place.is_file():
            size = place.stat().st_size
            if not size:
                raise NoReward(f"{name} is empty")
            if size > _MOST_BYTES:
                raise NoReward(f"{name} has {size:,} bytes")
            data = place.read_bytes()
            return _of_json(data) if name == JSON else {REWARD: _of_text(data)}
    raise NoReward(f"the verifier wrote neither {JSON} nor {TEXT}")


def _of_text(data: bytes) -> float:
    try:
        value = float(data.decode())
    except ValueError as error:
        raise NoReward(f"{TEXT} holds no number: {data[:_LONGEST].decode(errors='replace')!r}") from error
    if not math.isfinite(value):
        raise NoReward(f"{TEXT} holds {value}, which is no finite number")
    return value


def _of_json(data: bytes) -> dict[str, float]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NoReward(f"{JSON} is no JSON: {error}") from error
    if not isinstance(found, dict) or not found:
        raise NoReward(f"{JSON} is no object with rewards")
    if len(found) > _MOST_REWARDS:
        raise NoReward(f"{JSON} has {len(found)} rewards, more than {_MOST_REWARDS}")
    for name, value in found.items():
        if not name or len(name) > _LONGEST or not name.isprintable():
            raise NoReward(f"{JSON} has a reward without a legible name")
        try:
            finite = isinstance(value, int | float) and math.isfinite(value)
        except OverflowError:
            finite = False
        if not finite:
            raise NoReward(f"{JSON}: {name} is {value!r:.80}, which is no finite number")
    return {name: float(value) for name, value in found.items()}


def primary(rewards: dict[str, float], chosen: str = "") -> tuple[float | None, str]:
    """Return the reward that ranks, or why there is none: the `chosen` one, `reward`, or the only one."""
    name = chosen or (REWARD if REWARD in rewards or len(rewards) != 1 else next(iter(rewards)))
    if name in rewards:
        return rewards[name], ""
    there = ", ".join(sorted(rewards))
    return None, f"there is no reward {name!r}, but {there}; -P reward=NAME chooses the one that ranks"


def mean(steps: list[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each reward over steps; one that a step lacks counts as 0 there, as in Harbor."""
    names = dict.fromkeys(name for one in steps for name in one)
    return {name: sum(one.get(name, 0.0) for one in steps) / len(steps) for name in names} if steps else {}
