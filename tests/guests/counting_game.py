"""A stepped framework of the tests: whoever says 3 wins, and only the next number or the one after it is legal."""

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class CountingGame:
    """One number is said at a time. With `rival`, the opponent says every other one."""

    def __init__(self) -> None:
        self.args: Mapping[str, Any] = {}
        self.said: dict[str, list[int]] = {}

    def describe(self, source: str, args: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        self.args = args
        return {
            "id": f"counting/{source}",
            "title": "Counting",
            "version": "1",
            "digest": "d" * 32,
            "action_space": {"type": "discrete", "enum_values": ["1", "2", "3", "4"]},
            "judged": bool(args.get("rival")),
            "discovers": True,
            "roles": ["odd", "even"] if args.get("roles") else [],
        }

    def reset(self, episode: str, seed: int, **_: Any) -> dict[str, Any]:
        self._die(seed, "reset")
        self.said[episode] = []
        return {
            "observation": {"said": 0},
            "legal": ["1", "2"],
            "info": {"active_role": "odd"},
            "system_prompt": "Count to 3.",
            "rival": self.args.get("rival") == "first",
        }

    def step(self, episode: str, action: Any, **_: Any) -> dict[str, Any]:
        said = self.said[episode]
        number = int(action) if action is not None else (said[-1] if said else 0) + 1
        self._die(number, "step")
        said.append(number)
        over = number >= 3
        info: dict[str, Any] = {"said": number, "active_role": ("odd", "even")[len(said) % 2]}
        if over:
            info["scores"] = {"turns": float(len(said))}
        reward = {"nan": float("nan"), "none": None}.get(str(self.args.get("reward")), float(over))
        return {
            "observation": {"said": number},
            "legal": [] if over else [str(number + 1), str(number + 2)],
            "reward": reward,
            "terminated": over,
            "info": info,
            "rival": bool(self.args.get("rival")) and not over and len(said) % 2 == 1,
        }

    def leave(self, episode: str, **_: Any) -> None:
        self.said.pop(episode, None)

    def catalogue(self, **_: Any) -> Iterator[dict[str, Any]]:
        yield {"entry": {"id": "one", "title": "One", "run": "counting:one"}}

    def _die(self, number: int, where: str) -> None:
        """End this process at a number: once if the file that `args` name is not there yet, always without a file."""
        if self.args.get("dies") != f"{where}-{number}":
            return
        mark = self.args.get("mark")
        if mark is not None:
            if Path(mark).exists():
                return
            Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)


def framework() -> CountingGame:
    return CountingGame()
