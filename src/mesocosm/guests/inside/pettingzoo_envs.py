"""Speaks for PettingZoo: `pettingzoo:MODULE`, as in `classic/connect_four_v3` or `my_package.my_game_v0`."""

import ast
import importlib
import pkgutil
import random
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pettingzoo

from . import Failed, spaces
from .bare_loops import BareEpisode, native, samples
from .playing import Dice, content, manual, near, number, opening, packages, rival_of, seat_of, wanting

FAMILIES = ("classic", "butterfly", "mpe", "sisl", "atari")
_COOPERATIVE = ("pettingzoo.butterfly", "pettingzoo.sisl", "pettingzoo.mpe")
"""Families in whose games nobody wins."""
_LARGEST_SHOWN = 1_000
"""Observations with more numbers than this are not described by a schema, which would be checked at every step."""


class _Playing:
    """One episode: the game, who plays which seat, and what each seat has got."""

    def __init__(self, env: Any, dice: Dice, seat: int, seed: int | None, trial: int) -> None:
        self.env = env
        self.dice = dice
        self.seats: list[str] = list(env.possible_agents)
        self.seat = self.seats[seat]
        self.totals = dict.fromkeys(self.seats, 0.0)
        self.given = 0.0
        self.rival = random.Random(f"{seed}/{trial}/rival")
        self.turn = ""
        self.observation: Any = None
        self.info: Any = {}
        self.mask: Any = None
        self.invalid = False
        self.truncated = False


class PettingZooEnvs:
    """Our words for PettingZoo. Options of ours are `opponent`, `seat`, `render` and `names`; the rest goes to `env`.

    A game is played as the agent-environment cycle that PettingZoo documents: at each turn `last()`, then `step()`.
    """

    def __init__(self) -> None:
        self.module: Any = None
        self.name = ""
        self.contest = True
        self.rival = "random"
        self.fixed: Any = None
        self.render = ""
        self.names: list[str] = []
        self.options: dict[str, Any] = {}
        self.playing: dict[str, _Playing] = {}

    def describe(self, source: str, args: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        """Make the game once, to see its seats and spaces."""
        options = dict(args)
        self.rival = rival_of(options.pop("opponent", "random"))
        self.fixed = options.pop("seat", None)
        self.render = str(options.pop("render", "") or "")
        names = options.pop("names", None)
        self.options = {**options, **({"render_mode": self.render} if self.render else {})}
        self.module = _module(source)
        self.contest = not self.module.__name__.startswith(_COOPERATIVE)
        self.name = self.module.__name__.removeprefix("pettingzoo.").replace(".", "/")
        env = self._made()
        try:
            env.reset(seed=0)
            seats = list(env.possible_agents)
            chosen = seats[seat_of(len(seats), 0, 0, self.fixed)]
            space = env.action_space(chosen)
            if self.fixed is None and any(env.action_space(seat) != space for seat in seats):
                raise Failed(f"the seats of {self.name} have different actions; name the one to play: seat=0 and so on")
            self.names = spaces.named(names, space)
            found = packages(self.module.__name__, "pettingzoo", "gymnasium", "numpy")
            entry = type(env.unwrapped)
            facts = (self.name, self.options, self.rival, self.fixed, self.names)
            return {
                "id": f"pettingzoo/{self.name}",
                "title": self.name,
                "version": found.get("pettingzoo", ""),
                "digest": content(entry, found, "pettingzoo", *facts),
                "description": _rules(entry, seats, self.rival),
                "metrics": metrics(len(seats), contest=self.contest),
                "packages": found,
                "action_space": spaces.action_space(space, self.names),
                "observation_space": self._observation_space(env.observation_space(chosen)),
                "judged": self.rival == "judge",
                "discovers": len(seats) > 1,
                "roles": seats if self.rival == "self" and len(seats) > 1 else [],
                "card": {"seats": seats, "opponent": self.rival if len(seats) > 1 else ""},
            }
        finally:
            env.close()

    def reset(self, episode: str, seed: int | None = None, trial: int = 0, **_: Any) -> dict[str, Any]:
        """Make the game of an episode, and play it to the first turn that is not the opponent's own."""
        dice = Dice(seed)
        dice.take()
        env = self._made()
        seat = seat_of(len(env.possible_agents), seed, trial, self.fixed)
        playing = self.playing[episode] = _Playing(env, dice, seat, seed, trial)
        env.reset(seed=seed)
        self._advance(playing)
        told = self._shown(playing)
        playing.given = 0.0
        return opening(told)

    def step(self, episode: str, action: Any, **_: Any) -> dict[str, Any]:
        """Let the seat whose turn it is act, and play on. Without an action, it takes a random one."""
        playing = self.playing[episode]
        if not playing.env.agents:
            return self._shown(playing)
        space = playing.env.action_space(playing.turn)
        playing.dice.take()
        if action is None and playing.turn != playing.seat:
            value = self._drawn(playing, space)
        else:
            value = spaces.action(space, action, self.names)
        if (
            playing.mask is not None
            and playing.turn == playing.seat
            and not playing.mask[int(value) - int(space.start)]
        ):
            playing.invalid = True
        playing.env.step(value)
        self._advance(playing)
        return self._shown(playing)

    def leave(self, episode: str, **_: Any) -> None:
        """Close the game of an episode."""
        playing = self.playing.pop(episode, None)
        if playing is not None:
            playing.dice.drop()
            playing.env.close()

    def original(self, episodes: Sequence[Mapping[str, Any]], **_: Any) -> Iterator[dict[str, Any]]:
        """Play the recorded moves of all seats as the library's documentation does."""
        return samples(episodes, self._bare)

    def _bare(self, one: Mapping[str, Any]) -> BareEpisode:
        env, found = self._made(), BareEpisode()
        if len(env.possible_agents) > 1 and self.rival != "self":
            raise Failed("recorded moves are those of all seats: opponent=self", "environment_invalid")
        env.reset(seed=one["seed"])
        seat = env.possible_agents[seat_of(len(env.possible_agents), one["seed"], 0, self.fixed)]
        actions, cut = iter(one["actions"]), False
        for agent in env.agent_iter():
            _, reward, terminated, truncated, _ = env.last()
            # What a seat earns is told when it is its turn again.
            if agent == seat and found.rewards:
                found.rewards[-1] += float(reward)
            if terminated or truncated:
                cut = cut or (agent == seat and truncated and not terminated)
                env.step(None)
                continue
            action = next(actions, None)
            if action is None:
                break
            env.step(native(env.action_space(agent), action, self.names))
            found.step(0.0, terminated=False)
        found.terminated, found.truncated = not env.agents and not cut, not env.agents and cut
        env.close()
        return found

    def catalogue(self, **_: Any) -> Iterator[dict[str, Any]]:
        """Yield the games of the package, without importing them."""
        root = Path(pettingzoo.__file__).parent
        for family in FAMILIES:
            for found in pkgutil.iter_modules([str(root / family)]):
                if "_v" not in found.name:
                    continue
                text = (root / family / f"{found.name}.py").read_text(encoding="utf-8", errors="replace")
                lines = _first_lines(root, text)
                needs = _lacking(family, text)
                yield {
                    "entry": {
                        "id": f"{family}/{found.name}",
                        "title": found.name,
                        "description": lines,
                        "tasks": None,
                        "needs": needs,
                        "licence": "MIT",
                        "tags": [family],
                        "run": f"pettingzoo:{family}/{found.name}",
                    }
                }

    def _made(self) -> Any:
        try:
            if hasattr(self.module, "env"):
                return self.module.env(**self.options)
            from pettingzoo.utils import parallel_to_aec

            return parallel_to_aec(self.module.parallel_env(**self.options))
        except Exception as error:
            raise wanting(self.name, error) from error

    def _advance(self, playing: _Playing) -> None:
        """Play until somebody outside of this process must act, or the game is over."""
        env = playing.env
        while env.agents:
            turn = env.agent_selection
            observation, reward, terminated, truncated, info = env.last()
            playing.totals[turn] += number(reward, f"the reward of {turn}")
            if terminated or truncated:
                playing.truncated = playing.truncated or (turn == playing.seat and truncated and not terminated)
                env.step(None)
                continue
            playing.turn, playing.observation, playing.info = turn, observation, info
            mask = observation.get("action_mask") if isinstance(observation, Mapping) else None
            playing.mask = mask if mask is not None else (info or {}).get("action_mask")
            if turn == playing.seat or self.rival != "random":
                return
            env.step(self._drawn(playing, env.action_space(turn)))
        playing.mask = None

    def _drawn(self, playing: _Playing, space: Any) -> Any:
        """Return a random action of the seat whose turn it is, among the legal ones where a mask says which."""
        if type(space).__name__ == "Discrete":
            legal = [place for place, on in enumerate(playing.mask) if on] if playing.mask is not None else []
            return int(space.start) + (playing.rival.choice(legal) if legal else playing.rival.randrange(int(space.n)))
        space.seed(playing.rival.randrange(2**31))
        return space.sample()

    def _shown(self, playing: _Playing) -> dict[str, Any]:
        total = playing.totals[playing.seat]
        reward, playing.given = total - playing.given, total
        over = not playing.env.agents
        info: dict[str, Any] = {"seat": playing.seat}
        told: dict[str, Any] = {}
        if over:
            info |= outcome(playing.totals, playing.seat, playing.invalid, contest=self.contest)
            told["observation"] = {"seat": playing.seat, "rewards": playing.totals}
        else:
            info |= {} if self.rival == "random" else {"active_role": playing.turn}
            told |= self._seen(playing)
        return {
            **told,
            "reward": reward,
            "terminated": over and not playing.truncated,
            "truncated": over and playing.truncated,
            "info": info,
            "rival": not over and playing.turn != playing.seat and self.rival == "judge",
        }

    def _seen(self, playing: _Playing) -> dict[str, Any]:
        """Return what the seat whose turn it is sees."""
        space = playing.env.action_space(playing.turn)
        seen = playing.observation
        found: dict[str, Any] = {}
        if playing.mask is not None and type(space).__name__ == "Discrete":
            found["legal"] = spaces.legal(playing.mask, space, self.names)
        if isinstance(seen, Mapping) and "action_mask" in seen:
            rest = {key: value for key, value in seen.items() if key != "action_mask"}
            seen = rest["observation"] if rest.keys() == {"observation"} else rest
        data: dict[str, Any] = {"seat": playing.turn}
        if self.render == "ansi":
            drawn = spaces.uncoloured(str(playing.env.render()))
            lines = [drawn.strip("\n"), "", f"seat: {playing.turn}"]
            lines += [f"legal actions: {', '.join(found['legal'])}"] if "legal" in found else []
            return {"observation": "\n".join(lines), "content_type": spaces.TEXT, **found}
        if self.render:
            data["image"] = spaces.picture(playing.env.render())
        elif spaces.is_picture(playing.env.observation_space(playing.turn)):
            data["image"] = spaces.picture(seen)
        else:
            data["observation"] = spaces.plain(seen)
        if "legal" in found:
            data["legal_actions"] = found["legal"]
        return {"observation": data, **found}

    def _observation_space(self, space: Any) -> Any:
        if self.render == "ansi":
            return {"type": "text"}
        parts = dict(space.spaces) if type(space).__name__ == "Dict" else {}
        if "action_mask" in parts:
            parts.pop("action_mask")
            space = parts["observation"] if parts.keys() == {"observation"} else None
        size = 1
        for length in getattr(space, "shape", None) or ():
            size *= int(length)
        known = None if space is None or self.render or size > _LARGEST_SHOWN else spaces.schema(space)
        if known is None:
            return None
        properties = {
            "seat": {"type": "string"},
            "observation": known,
            "legal_actions": {"type": "array", "items": {"type": "string"}},
        }
        return {"type": "json", "schema": {"type": "object", "properties": properties, "required": ["seat"]}}


def metrics(seats: int, *, contest: bool) -> list[dict[str, Any]]:
    """Return the metrics of a game: the reward of the seat under test, and in a contest how often it won."""
    found: list[dict[str, Any]] = [{"name": "mean_reward", "score": "reward", "primary": True}]
    if seats > 1 and contest:
        found.append({"name": "won", "score": "won", "low": 0.0, "high": 1.0})
        found.append(
            {"name": "invalid_move", "score": "invalid_move", "low": 0.0, "high": 1.0, "higher_is_better": False}
        )
    return found


def outcome(rewards: Mapping[str, float], seat: str, invalid: bool, *, contest: bool) -> dict[str, Any]:
    """Return the fields of the last info: scores of the seat under test, and the rewards of all seats."""
    others = [reward for name, reward in rewards.items() if name != seat]
    found: dict[str, Any] = {"seat": seat, "rewards": dict(rewards)}
    if others and contest:
        found["won"] = float(rewards[seat] > max(others))
        found["invalid_move"] = float(invalid)
    if others:
        found["scores"] = {f"reward_as_{seat}": rewards[seat]}
    return found


def _module(source: str) -> Any:
    """Return the module of a game. Raises Failed."""
    name = source.replace("/", ".")
    root = Path(pettingzoo.__file__).parent
    family = next((one for one in FAMILIES if "." not in name and (root / one / f"{name}.py").is_file()), "")
    tried = [f"pettingzoo.{family}.{name}"] if family else []
    tried += [f"pettingzoo.{name}"] if name.partition(".")[0] in FAMILIES else []
    tried += [name]
    for one in tried:
        try:
            found = importlib.import_module(one)
        except ModuleNotFoundError as error:
            if error.name and (one == error.name or one.startswith(f"{error.name}.")):
                continue
            raise wanting(source, error) from error
        except Exception as error:
            raise wanting(source, error) from error
        if hasattr(found, "env") or hasattr(found, "parallel_env"):
            return found
        raise Failed(f"the module {one} has no env() and no parallel_env()")
    known = [found.name for one in FAMILIES for found in pkgutil.iter_modules([str(root / one)])]
    raise Failed(f"no game is called {source}{near(source.rpartition('/')[2], known)}")


def _rules(entry: Any, seats: list[str], rival: str) -> str:
    import sys

    module = sys.modules.get(entry.__module__)
    text = manual(entry.__doc__ if entry.__doc__ and len(entry.__doc__) > 400 else getattr(module, "__doc__", ""))
    if len(seats) < 2:
        return text
    who = "You play one seat" if rival != "self" else "You play every seat in turn"
    return f"{text}\n\n{who} of {', '.join(seats)}; `seat` in the observation says which.".strip()


def _first_lines(root: Path, text: str) -> str:
    """Return the first sentence of the documentation of a game, which is that of the module it imports from."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pettingzoo."):
            file = root.joinpath(*node.module.split(".")[1:]).with_suffix(".py")
            if file.is_file():
                words = manual(ast.get_docstring(ast.parse(file.read_text(encoding="utf-8", errors="replace"))))
                plain = [line for line in words.splitlines() if line[:1].isalpha() and " " in line]
                plain = [line for line in plain if not line.startswith("This environment is part of")]
                return plain[0].partition(". ")[0][:200] if plain else ""
    return ""


def _lacking(family: str, text: str) -> list[str]:
    wanted = {"atari": ["multi_agent_ale_py"], "sisl": ["pygame", "Box2D"] if "walker" in text else ["pygame"]}
    special = {"hanabi": "shimmy", "go_v": "pygame", "rlcard": "rlcard", "chess": "chess"}
    names = wanted.get(family, ["pygame"]) + [need for word, need in special.items() if word in text]
    return [name for name in dict.fromkeys(names) if find_spec(name) is None]


def framework() -> PettingZooEnvs:
    """Return what speaks for PettingZoo."""
    return PettingZooEnvs()
