"""A framework of the tests whose environment is played step by step: count up to the seed."""

from collections.abc import Mapping
from typing import Any


class Counter:
    """Each step adds the action; the reward is 1 once the sum is the seed."""

    def __init__(self) -> None:
        self.sums: dict[str, tuple[int, int, int]] = {}

    def describe(self, source: str, args: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        return {
            "id": f"counter/{source}",
            "title": "Counter",
            "version": "1",
            "digest": "e" * 32,
            "oracle": True,
            "max_steps": 10,
            "metrics": [{"name": "mean_reward", "score": "reward", "low": 0.0, "high": 1.0, "primary": True}]
            if args.get("bounded")
            else [],
            "action_space": {"type": "discrete", "enum_values": ["0", "1"]},
        }

    def reset(self, episode: str, seed: int, trial: int, **_: Any) -> dict[str, Any]:
        self.sums[episode] = (0, seed, trial)
        return {"observation": {"sum": 0, "wanted": seed}, "info": {"trial": trial}}

    def step(self, episode: str, action: str, **_: Any) -> dict[str, Any]:
        found, wanted, trial = self.sums[episode]
        found += int(action)
        self.sums[episode] = (found, wanted, trial)
        done = found >= wanted
        return {
            "observation": {"sum": found, "wanted": wanted},
            "reward": float(done),
            "terminated": done,
            "truncated": False,
            "info": {"trial": trial, "open": len(self.sums)},
        }

    def oracle(self, **_: Any) -> dict[str, Any]:
        return {"action": "1"}

    def leave(self, episode: str, **_: Any) -> None:
        del self.sums[episode]


def framework() -> Counter:
    return Counter()
