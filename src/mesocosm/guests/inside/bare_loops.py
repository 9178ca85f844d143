"""The loop that the documentation of a library shows, on recorded actions: for comparisons with ours."""

import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Told = dict[str, Any]


class BareEpisode:
    """One episode as a bare loop plays it: the reward of each step, and how it ended."""

    def __init__(self) -> None:
        self.rewards: list[float] = []
        self.terminated = False
        self.truncated = False

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.terminated or self.truncated

    def step(self, reward: Any, terminated: Any, truncated: Any = False) -> None:
        """Note one step."""
        self.rewards.append(math.nan if reward is None else float(reward))
        self.terminated, self.truncated = bool(terminated), bool(truncated)

    def scores(self) -> list[dict[str, Any]]:
        """Return the whole reward, that of each step, and how it ended."""
        named = {"reward": math.fsum(self.rewards)}
        named |= {f"step {place}": reward for place, reward in enumerate(self.rewards, 1)}
        named |= {"terminated": float(self.terminated), "truncated": float(self.truncated)}
        return [{"name": name, "value": value} for name, value in named.items() if math.isfinite(value)]


def samples(
    episodes: Sequence[Mapping[str, Any]], play: Callable[[Mapping[str, Any]], BareEpisode]
) -> Iterator[dict[str, Any]]:
    """Yield what a loop makes of each episode (`seed`, `row`, `actions`); one after the other, each with its seed."""
    for place, one in enumerate(episodes):
        seed = one["row"] if one.get("seed") is None else one["seed"]
        random.seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed % 2**32)
        try:
            sample: Told = {"scores": play(one).scores(), "failed": ""}
        except Exception as error:  # noqa: BLE001 -- foreign code
            sample = {"scores": [], "failed": f"{type(error).__name__}: {error}"}
        yield {"sample": {"place": place, "trial": 0, **sample}}


def native(space: Any, given: Any, names: Sequence[str] = ()) -> Any:
    """Return an action of the file as the library's own value."""
    kind = type(space).__name__
    if kind == "Discrete":
        return int(space.start) + names.index(given) if given in names else int(given)
    if kind == "Dict":
        return {name: native(part, given[str(name)]) for name, part in space.spaces.items()}
    if kind == "Tuple":
        parts = given if isinstance(given, list) else [given[str(place)] for place in range(len(space.spaces))]
        return tuple(native(part, one) for part, one in zip(space.spaces, parts, strict=True))
    if kind == "Text":
        return given
    import numpy

    values = (
        [given[name] for name in sorted(given, key=lambda name: int(name.rpartition("_")[2]))]
        if isinstance(given, dict)
        else given
    )
    return numpy.array(values, dtype=float).reshape(space.shape).astype(space.dtype)
