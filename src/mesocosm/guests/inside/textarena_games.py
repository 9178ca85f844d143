"""Speaks for TextArena: `textarena:GAME`."""

import copy
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import textarena
from textarena.envs.registration import ENV_REGISTRY

from . import Failed, finite
from .bare_loops import BareEpisode, samples
from .playing import Dice, content, near, opening, packages, rival_of, seat_of, wanting
from .spaces import TEXT

MOST_SEATS = 15
MOST_STEPS = 500
"""Default limit for the turns of the seat under test. Some games never end for one who only makes invalid moves."""
MOST_TRIES = 40
"""Moves that the random opponent tries on a copy of the game before it gives up and plays one that is refused."""
_PLAYERS = re.compile(r"^#.*?[\[(](?:(\d+)(?:-\d+)?|(single|two))[ -]players?[\])]", re.IGNORECASE)
_REGISTERED = re.compile(r"^register(?:_with_versions)?\(\s*id=\"([^\"]+)\"")
_BLANK = re.compile(r"\b[A-Z]\b")
_QUOTED = re.compile(r"\[[^\[\]\n]{1,40}\]")


class _Playing:
    """One episode: the game, the seat under test, and what each seat has been shown."""

    def __init__(self, env: Any, dice: Dice, seat: int, seats: int, seed: int | None, trial: int) -> None:
        self.env = env
        self.dice = dice
        self.seat = seat
        self.seats = seats
        self.rival = random.Random(f"{seed}/{trial}/rival")
        self.turn = 0
        self.text = ""
        self.shown: dict[int, str] = {}
        self.over = False
        self.steps = 0


class TextArenaGames:
    """Our words for TextArena. Our options are `opponent`, `seat`, `players`, `observe` and `max_steps`.

    All others go to `make`. Games draw from the global random numbers of Python: each episode has a state of its own.
    """

    def __init__(self) -> None:
        self.id = ""
        self.seats = 1
        self.rival = "random"
        self.fixed: Any = None
        self.whole = False
        self.most = MOST_STEPS
        self.options: dict[str, Any] = {}
        self.playing: dict[str, _Playing] = {}

    def describe(self, source: str, args: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        """Start the game once, to see that it can be played here."""
        options = dict(args)
        self.id = source
        self.rival = rival_of(options.pop("opponent", "random"))
        self.fixed = options.pop("seat", None)
        players = options.pop("players", None)
        observe = options.pop("observe", "new")
        if observe not in ("new", "whole"):
            raise Failed(f"observe={observe!r} is not known; it is new (what the game said since) or whole")
        self.whole = observe == "whole"
        self.most = options.pop("max_steps", MOST_STEPS)
        if not isinstance(self.most, int) or isinstance(self.most, bool) or self.most < 1:
            raise Failed(f"max_steps={self.most!r} is no number of turns")
        self.options = options
        spec = ENV_REGISTRY.get(source)
        if spec is None:
            raise Failed(f"no game is called {source}{near(source, ENV_REGISTRY)}")
        env, self.seats = self._first(_players().get(_base(source)) if players is None else players, players)
        seat_of(self.seats, 0, 0, self.fixed)
        found = packages(spec.entry_point, "textarena")
        kwargs = {**spec.kwargs, **options}
        wrappers = [wrapper.__name__ for wrapper in spec.default_wrappers or ()]
        facts = (source, kwargs, wrappers, self.seats, self.rival, self.fixed, observe, self.most)
        seats = [_name(seat) for seat in range(self.seats)]
        return {
            "id": f"textarena/{source}",
            "title": source,
            "version": found.get("textarena", ""),
            "digest": content(type(_inner(env)), found, "textarena", *facts),
            "metrics": _metrics(self.seats),
            "packages": found,
            "action_space": {"type": "text"},
            "observation_space": {"type": "text"},
            "judged": self.rival == "judge" and self.seats > 1,
            "discovers": self.seats > 1,
            "roles": seats if self.rival == "self" and self.seats > 1 else [],
            "card": {"seats": seats, "opponent": self.rival if self.seats > 1 else "", "wrappers": wrappers},
        }

    def reset(self, episode: str, seed: int | None = None, trial: int = 0, **_: Any) -> dict[str, Any]:
        """Start the game of an episode, and play it to the first turn that is not the opponent's own."""
        dice = Dice(seed)
        dice.take()
        seat = seat_of(self.seats, seed, trial, self.fixed)
        env = self._made()
        env.reset(num_players=self.seats, seed=seed)
        playing = self.playing[episode] = _Playing(env, dice, seat, self.seats, seed, trial)
        self._advance(playing)
        return opening(self._shown(playing))

    def step(self, episode: str, action: Any, **_: Any) -> dict[str, Any]:
        """Let the seat whose turn it is act, and play on. Without an action, it takes a random one."""
        playing = self.playing[episode]
        playing.dice.take()
        if playing.over:
            return self._shown(playing)
        mine = playing.turn == playing.seat
        said = self._drawn(playing) if action is None and not mine else str(action)
        playing.over, _ = playing.env.step(action=said)
        playing.steps += mine
        if not playing.over and playing.steps >= self.most:
            return _unfinished(playing)
        self._advance(playing)
        return self._shown(playing)

    def leave(self, episode: str, **_: Any) -> None:
        """Forget the game of an episode."""
        playing = self.playing.pop(episode, None)
        if playing is not None:
            playing.dice.drop()

    def original(self, episodes: Sequence[Mapping[str, Any]], **_: Any) -> Iterator[dict[str, Any]]:
        """Play the recorded moves of all seats as the library's documentation does."""
        return samples(episodes, self._bare)

    def _bare(self, one: Mapping[str, Any]) -> BareEpisode:
        if self.seats > 1 and self.rival != "self":
            raise Failed("recorded moves are those of all seats: opponent=self", "environment_invalid")
        env, found = textarena.make(self.id, **self.options), BareEpisode()
        env.reset(num_players=self.seats, seed=one["seed"])
        seat = seat_of(self.seats, one["seed"], 0, self.fixed)
        for action in one["actions"]:
            env.get_observation()
            done, _ = env.step(action=action)
            rewards = env.close()[0] if done else {seat: 0.0}
            found.step((rewards or {}).get(seat), done)
            if done:
                break
        return found

    def catalogue(self, **_: Any) -> Iterator[dict[str, Any]]:
        """Yield the registered games, without those of other wrappers, and without importing them."""
        players = _players()
        for name, spec in ENV_REGISTRY.items():
            if name.endswith(("-raw", "-train")):
                continue
            known = players.get(_base(name))
            count = f"{known} player{'s' * (known != 1)}" if known else ""
            facts = ", ".join(f"{key}={value!r:.40}" for key, value in spec.kwargs.items())
            yield {
                "entry": {
                    "id": name,
                    "title": name.partition("-v")[0],
                    "description": "; ".join(part for part in (count, facts) if part)[:200],
                    "tasks": None,
                    "needs": [],
                    "licence": "MIT",
                    "tags": ["single-player" if known == 1 else "multi-player"] if known else [],
                    "run": f"textarena:{name}",
                }
            }

    def _made(self) -> Any:
        return textarena.make(self.id, **self.options)

    def _first(self, players: int | None, named: Any) -> tuple[Any, int]:
        """Return the game, started, and with how many seats. Raises Failed if it cannot be started."""
        if named is not None and (not isinstance(named, int) or isinstance(named, bool) or named < 1):
            raise Failed(f"players={named!r} is no number of seats")
        try:
            env = self._made()
        except Exception as error:
            raise wanting(self.id, error) from error
        first: BaseException | None = None
        for seats in [players] if named is not None else dict.fromkeys([players or 1, *range(1, MOST_SEATS + 1)]):
            assert seats is not None
            try:
                Dice(0).take()
                env.reset(num_players=seats, seed=0)
                env.get_observation()
            except Exception as error:  # noqa: BLE001 -- foreign code
                first = first or error
                continue
            return env, seats
        assert first is not None
        raise wanting(self.id, first) from first

    def _advance(self, playing: _Playing) -> None:
        """Play until somebody outside of this process must act, or the game is over."""
        while not playing.over:
            turn, seen = playing.env.get_observation()
            playing.turn, playing.text = int(turn), _text(seen)
            if playing.turn == playing.seat or self.rival != "random":
                return
            playing.over, _ = playing.env.step(action=self._drawn(playing))

    def _drawn(self, playing: _Playing) -> str:
        """Return a random move: one that the game quotes in brackets and accepts, as far as a copy of it can tell."""
        rng = playing.rival
        roles = {f"[{_name(seat)}]" for seat in range(playing.seats)} | {"[GAME]"}
        quoted = [word for word in dict.fromkeys(_QUOTED.findall(playing.text)) if word not in roles]
        rng.shuffle(quoted)
        invented = [f"[{rng.randrange(10)}]" for _ in range(4)]
        invented += [f"[{rng.randrange(9)} {rng.randrange(9)}]" for _ in range(4)]
        # Words such as [play X] are a pattern.
        patterns = [word for word in quoted if _BLANK.search(word)]
        invented += [_BLANK.sub(lambda _: str(rng.randrange(1, 7)), word) for word in patterns[:4] for _ in range(3)]
        moves: list[str] = [*quoted[: MOST_TRIES - len(invented)], *invented]
        before = random.getstate()
        try:
            return next((move for move in moves if self._accepted(playing, move)), moves[0])
        finally:
            random.setstate(before)

    def _accepted(self, playing: _Playing, move: str) -> bool:
        try:
            game = copy.deepcopy(playing.env)
            errors = getattr(game.state, "error_count", 0)
            over, _ = game.step(action=move)
            state = game.state
        except Exception:  # noqa: BLE001 -- foreign code: a move that breaks the game is none
            return False
        if over:
            _, facts = game.close()
            return not (facts or {}).get(playing.turn, {}).get("invalid_move")
        return not (state.current_player_id == playing.turn and getattr(state, "error_count", 0) > errors)

    def _shown(self, playing: _Playing) -> dict[str, Any]:
        seat = _name(playing.seat)
        info: dict[str, Any] = {"seat": seat}
        if playing.over:
            reward, text = self._ended(playing, info)
        else:
            reward, text = 0.0, self._new(playing)
            if self.rival != "random":
                info["active_role"] = _name(playing.turn)
        return {
            "observation": text,
            "content_type": TEXT,
            "reward": reward,
            "terminated": playing.over,
            "truncated": False,
            "info": info,
            "rival": not playing.over and playing.turn != playing.seat and self.rival == "judge",
        }

    def _new(self, playing: _Playing) -> str:
        """Return what the game said since the last turn of this seat; all of it if it does not continue that."""
        before, playing.shown[playing.turn] = playing.shown.get(playing.turn), playing.text
        if self.whole or not before or not playing.text.startswith(before):
            return playing.text.strip("\n")
        return playing.text[len(before) :].strip("\n")

    def _ended(self, playing: _Playing, info: dict[str, Any]) -> tuple[float, str]:
        """Add the scores to the info; return the reward of the seat under test, NaN if the game gave none."""
        rewards, facts = playing.env.close()
        found = {int(seat): finite(reward) for seat, reward in (rewards or {}).items()}
        own = found.get(playing.seat)
        said = {int(seat): dict(fact) for seat, fact in (facts or {}).items() if isinstance(fact, Mapping)}
        mine = said.get(playing.seat, {})
        info["rewards"] = {_name(seat): reward for seat, reward in found.items()}
        info["reason"] = str(mine.get("reason") or "")
        info["turns"] = {_name(seat): fact.get("turn_count") for seat, fact in said.items()}
        info["invalid_move"] = float(bool(mine.get("invalid_move")))
        if mine.get("role"):
            info["role"] = str(mine["role"])
        if playing.seats > 1:
            others = [reward for seat, reward in found.items() if seat != playing.seat and reward is not None]
            if own is not None and others:
                info["won"] = float(own > max(others))
            fouls = [bool(fact.get("invalid_move")) for seat, fact in said.items() if seat != playing.seat]
            info["scores"] = {"opponent_invalid_move": float(any(fouls))}
            if own is not None:
                info["scores"][f"reward_as_seat_{playing.seat}"] = own
        reason = f": {info['reason']}" if info["reason"] else ""
        return math.nan if own is None else own, f"The game is over{reason}"


def _unfinished(playing: _Playing) -> dict[str, Any]:
    """Return the end of a game that has no result, so that its reward is missing and not 0."""
    reason = f"the game was not over after {playing.steps} turns of this seat (max_steps), so it has no result"
    return {
        "observation": reason,
        "content_type": TEXT,
        "reward": math.nan,
        "terminated": False,
        "truncated": True,
        "info": {"seat": _name(playing.seat), "reason": reason},
    }


def _metrics(seats: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"name": "mean_reward", "score": "reward", "primary": True}]
    if seats > 1:
        found[0] |= {"low": -1.0}
        found.append({"name": "won", "score": "won", "low": 0.0, "high": 1.0})
    return [
        *found,
        {"name": "invalid_move", "score": "invalid_move", "low": 0.0, "high": 1.0, "higher_is_better": False},
    ]


def _players() -> dict[str, int]:
    """Return how many players each game takes at least, by the comments above their registrations."""
    found: dict[str, int] = {}
    least = 0
    source = Path(textarena.__file__).parent / "envs" / "__init__.py"
    for line in source.read_text(encoding="utf-8", errors="replace").splitlines():
        comment, registered = _PLAYERS.match(line), _REGISTERED.match(line)
        if comment is not None:
            least = int(comment[1]) if comment[1] else {"single": 1, "two": 2}[comment[2].lower()]
        elif registered is not None and least:
            found.setdefault(registered[1], least)
    return found


def _base(name: str) -> str:
    return name.removesuffix("-raw").removesuffix("-train")


def _name(seat: int) -> str:
    return f"Player {seat}"


def _inner(env: Any) -> Any:
    while isinstance(env, textarena.Wrapper):
        env = env.env
    return env


def _text(seen: Any) -> str:
    """Return an observation as text; without a wrapper of the game it is a list of messages."""
    if isinstance(seen, str):
        return seen
    lines = []
    for sender, message, *_ in seen or ():
        lines.append(f"[{'GAME' if sender == textarena.GAME_ID else _name(sender)}] {message}")
    return "\n".join(lines)


def framework() -> TextArenaGames:
    """Return what speaks for TextArena."""
    return TextArenaGames()
