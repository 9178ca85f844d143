"""Speaks for Gymnasium: `gym:ID`."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gymnasium

from . import Failed, spaces
from .bare_loops import BareEpisode, native, samples
from .playing import Dice, content, manual, module_of, near, number, packages, wanting

_NEEDS = {
    "gymnasium.envs.box2d": "box2d",
    "gymnasium.envs.mujoco": "mujoco",
    "gymnasium.envs.phys2d": "jax",
    "gymnasium.envs.tabular": "jax",
    "ale_py": "ale_py",
}
_MODULES = {"box2d": "Box2D", "mujoco": "mujoco", "jax": "jax", "ale_py": "ale_py"}


class _Playing:
    """One episode: its environment and its random numbers."""

    def __init__(self, env: Any, dice: Dice) -> None:
        self.env = env
        self.dice = dice
        self.mask: Any = None


class GymnasiumEnvs:
    """Our words for Gymnasium. Options of ours are `render`, `names` and `mask`; the rest goes to `make`."""

    def __init__(self) -> None:
        self.id = ""
        self.render = ""
        self.masks = False
        self.names: list[str] = []
        self.options: dict[str, Any] = {}
        self.space: Any = None
        self.pictured = False
        self.playing: dict[str, _Playing] = {}

    def describe(self, source: str, args: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        """Make the environment once, to see its spaces."""
        options = dict(args)
        self.id = source
        self.render = str(options.pop("render", "") or "")
        self.masks = options.pop("mask", False) in (True, "on", "true", 1)
        names = options.pop("names", None)
        self.options = {**options, **({"render_mode": self.render} if self.render else {})}
        env = self._made()
        try:
            self.space = env.action_space
            meanings = getattr(env.unwrapped, "get_action_meanings", None)
            self.names = spaces.named(names or (meanings() if callable(meanings) else None), self.space)
            self.pictured = spaces.is_picture(env.observation_space)
            spec = env.spec
            entry = spec.entry_point
            found = packages(entry, "gymnasium", "numpy")
            kwargs = {name: value for name, value in (spec.kwargs or {}).items() if name != "render_mode"}
            facts = (spec.id, kwargs, spec.max_episode_steps, self.render, self.masks, self.names)
            low, high = getattr(env.unwrapped, "reward_range", (-math.inf, math.inf))
            steps = spec.max_episode_steps
            return {
                "id": f"gym/{spec.id}",
                "title": spec.id,
                "version": found.get("gymnasium", ""),
                "digest": content(entry, found, "gym", *facts),
                "description": manual(type(env.unwrapped).__doc__),
                "metrics": [_reward_metric(float(low), float(high), steps)],
                "packages": found,
                "max_steps": steps,
                "action_space": spaces.action_space(self.space, self.names),
                "observation_space": self._observation_space(env.observation_space),
                "card": {"entry_point": f"{module_of(entry)}:{type(env.unwrapped).__name__}"},
            }
        finally:
            env.close()

    def reset(self, episode: str, seed: int | None = None, **_: Any) -> dict[str, Any]:
        """Make the environment of an episode and start it."""
        dice = Dice(seed)
        dice.take()
        playing = self.playing[episode] = _Playing(self._made(), dice)
        observation, info = playing.env.reset(seed=seed)
        return {**self._shown(playing, observation, info), "info": spaces.plain(info)}

    def step(self, episode: str, action: Any, **_: Any) -> dict[str, Any]:
        """Apply one action."""
        playing = self.playing[episode]
        value = spaces.action(self.space, action, self.names)
        playing.dice.take()
        observation, reward, terminated, truncated, info = playing.env.step(value)
        return {
            **self._shown(playing, observation, info),
            "reward": number(reward, "its reward"),
            "terminated": bool(terminated),
            "truncated": bool(truncated),
            "info": spaces.plain(info),
        }

    def leave(self, episode: str, **_: Any) -> None:
        """Close the environment of an episode."""
        playing = self.playing.pop(episode, None)
        if playing is not None:
            playing.dice.drop()
            playing.env.close()

    def original(self, episodes: Sequence[Mapping[str, Any]], **_: Any) -> Iterator[dict[str, Any]]:
        """Play recorded actions as the library's documentation does."""
        return samples(episodes, self._bare)

    def _bare(self, one: Mapping[str, Any]) -> BareEpisode:
        env, found = gymnasium.make(self.id, **self.options), BareEpisode()
        env.reset(seed=one["seed"])
        for action in one["actions"]:
            _, reward, terminated, truncated, _ = env.step(native(env.action_space, action, self.names))
            found.step(reward, terminated, truncated)
            if found.over:
                break
        env.close()
        return found

    def catalogue(self, **_: Any) -> Iterator[dict[str, Any]]:
        """Yield what is registered."""
        from importlib.util import find_spec

        for spec in gymnasium.registry.values():
            if not isinstance(spec.entry_point, str):
                # Names of older versions, which only say that they are gone.
                continue
            module = module_of(spec.entry_point)
            needs = next((need for start, need in _NEEDS.items() if module.startswith(start)), "")
            lacking = bool(needs) and find_spec(_MODULES[needs]) is None
            steps = f", at most {spec.max_episode_steps} steps" if spec.max_episode_steps else ""
            yield {
                "entry": {
                    "id": spec.id,
                    "title": spec.name,
                    "description": f"{module}{steps}",
                    "tasks": None,
                    "needs": [needs] if lacking else [],
                    "licence": "MIT" if module.startswith("gymnasium.") else "",
                    "tags": [module.split(".")[2] if module.startswith("gymnasium.envs.") else module.split(".")[0]],
                    "run": f"gym:{spec.id}",
                }
            }

    def _made(self) -> Any:
        try:
            return gymnasium.make(self.id, **self.options)
        except gymnasium.error.NameNotFound as error:
            raise self._unknown() from error
        except (gymnasium.error.Error, ImportError, SyntaxError, TypeError, AssertionError) as error:
            raise wanting(self.id, error) from error

    def _unknown(self) -> Failed:
        return Failed(f"no environment is called {self.id}{near(self.id, gymnasium.registry)}")

    def _observation_space(self, space: Any) -> Any:
        if self.render == "ansi":
            return {"type": "text"}
        if self.render or self.masks:
            return None
        return spaces.observation_space(space)

    def _shown(self, playing: _Playing, observation: Any, info: Any) -> dict[str, Any]:
        if self.pictured and not self.render:
            return {"observation": spaces.picture(observation), "content_type": spaces.PNG}
        data: Any = spaces.plain(observation)
        found: dict[str, Any] = {}
        if self.masks and isinstance(info, Mapping) and "action_mask" in info:
            found["legal"] = spaces.legal(info["action_mask"], self.space, self.names)
        if self.render == "ansi":
            drawn = playing.env.render()
            text = spaces.uncoloured(drawn if isinstance(drawn, str) else "\n".join(drawn or ()))
            lines = [text.strip("\n"), "", f"observation: {data}"]
            lines += [f"legal actions: {', '.join(found['legal'])}"] if "legal" in found else []
            return {"observation": "\n".join(lines), "content_type": spaces.TEXT, **found}
        if self.render:
            data = {"observation": None if self.pictured else data, "image": spaces.picture(playing.env.render())}
        if "legal" in found:
            data = {**(data if self.render else {"observation": data}), "legal_actions": found["legal"]}
        return {"observation": data, **found}


def _reward_metric(low: float, high: float, steps: int | None) -> dict[str, Any]:
    """Return the metric of the whole reward. A declared range is that of one step."""
    metric: dict[str, Any] = {"name": "mean_reward", "score": "reward", "primary": True}
    if steps and math.isfinite(low):
        metric["low"] = min(low * steps, low)
    if steps and math.isfinite(high):
        metric["high"] = max(high * steps, high)
    return metric


def framework() -> GymnasiumEnvs:
    """Return what speaks for Gymnasium."""
    return GymnasiumEnvs()
