"""Speaks for SkyRL-gym: `skyrl:ENVIRONMENT` with `data=FILE`, rows of a data set of SkyRL."""

import dataclasses
import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import skyrl_gym
from skyrl_gym.envs.registration import registry

from . import Failed, digest
from .bare_loops import BareEpisode, samples
from .playing import Dice, content, manual, module_of, near, number, packages, wanting
from .spaces import TEXT, plain

PROMPT = "prompt"


class SkyRLEnvs:
    """Our words for SkyRL-gym. The option `data` names the rows; the rest is the configuration of the environment.

    A row has `prompt`, a text or messages; everything else in it reaches the environment as `extras`.
    """

    def __init__(self) -> None:
        self.id = ""
        self.rows: list[dict[str, Any]] = []
        self.configuration: Any = None
        self.playing: dict[str, tuple[Any, Dice]] = {}

    def describe(self, source: str, args: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        """Read the rows, and make the environment of the first."""
        options = dict(args)
        data = options.pop("data", None)
        spec = registry.get(source)
        if spec is None:
            raise Failed(f"no environment is called {source}{near(source, registry)}")
        self.id = source
        if not data:
            raise Failed(
                "SkyRL-gym brings no data: name a file of rows with prompt, reward_spec and so on: -P data=FILE.jsonl "
                "(or .parquet)"
            )
        file = Path(str(data)).expanduser()
        self.rows = _rows(file)
        self.configuration = _configuration(spec.entry_point, options)
        env = self._made(0)
        found = packages(spec.entry_point, "skyrl_gym")
        return {
            "id": f"skyrl/{source}",
            "title": f"{source} on {file.name}",
            "version": found.get("skyrl_gym", ""),
            "digest": content(spec.entry_point, found, "skyrl", source, options, digest(file)),
            "description": manual(type(env).__doc__),
            "tasks": len(self.rows),
            "metrics": [{"name": "mean_reward", "score": "reward", "primary": True}],
            "packages": found,
            "action_space": {"type": "text"},
            "observation_space": {"type": "text"},
            "card": {"data": file.name, "entry_point": str(spec.entry_point)},
        }

    def tasks(self, **_: Any) -> Iterator[dict[str, Any]]:
        """Yield the rows."""
        for place, row in enumerate(self.rows):
            extra = row.get("extra_info") if isinstance(row.get("extra_info"), Mapping) else {}
            spec = row.get("reward_spec") or row.get("reward_model") or {}
            name = row.get("id") or row.get("uid") or (extra or {}).get("index")
            labels = {key: str(row[key]) for key in ("data_source", "ability") if isinstance(row.get(key), str)}
            yield {
                "task": {
                    "id": f"row-{place}" if name is None else str(name),
                    "place": place,
                    "input": row[PROMPT],
                    "target": spec.get("ground_truth") if isinstance(spec, Mapping) else None,
                    "labels": labels,
                }
            }

    def reset(self, episode: str, place: int, seed: int | None = None, **_: Any) -> dict[str, Any]:
        """Make the environment of a row."""
        dice = Dice(place if seed is None else seed)
        dice.take()
        env = self._made(place)
        self.playing[episode] = (env, dice)
        prompt = self.rows[place][PROMPT]
        messages, metadata = env.init([{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt)
        system = [str(message["content"]) for message in messages if message.get("role") == "system"]
        return {
            "observation": _text([message for message in messages if message.get("role") != "system"]),
            "content_type": TEXT,
            "system_prompt": "\n\n".join(system) or None,
            "info": plain(metadata or {}),
        }

    def step(self, episode: str, action: Any, **_: Any) -> dict[str, Any]:
        """Apply one reply."""
        env, dice = self.playing[episode]
        dice.take()
        told = env.step(str(action))
        done = bool(told["done"])
        info = dict(told.get("metadata") or {})
        if done:
            info |= {f"env_{name}": value for name, value in (env.get_metrics() or {}).items()}
        return {
            "observation": _text(told.get("observations") or []),
            "content_type": TEXT,
            "reward": number(told.get("reward"), "its reward"),
            "terminated": done,
            "truncated": False,
            "info": plain(info),
        }

    def leave(self, episode: str, **_: Any) -> None:
        """Close the environment of an episode."""
        found = self.playing.pop(episode, None)
        if found is not None:
            found[1].drop()
            found[0].close()

    def original(self, episodes: Sequence[Mapping[str, Any]], **_: Any) -> Iterator[dict[str, Any]]:
        """Play recorded replies as the library's documentation does."""
        return samples(episodes, self._bare)

    def _bare(self, one: Mapping[str, Any]) -> BareEpisode:
        row = dict(self.rows[one["row"]])
        prompt = row.pop(PROMPT)
        env, found = skyrl_gym.make(self.id, env_config=self.configuration, extras=row), BareEpisode()
        env.init([{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt)
        for action in one["actions"]:
            told = env.step(action)
            found.step(told["reward"], told["done"])
            if found.over:
                break
        env.close()
        return found

    def catalogue(self, **_: Any) -> Iterator[dict[str, Any]]:
        """Yield the registered environments; each needs a file of rows."""
        for name, spec in registry.items():
            yield {
                "entry": {
                    "id": name,
                    "title": name,
                    "description": f"{module_of(spec.entry_point)}; needs rows: -P data=FILE.jsonl",
                    "tasks": None,
                    "needs": ["data"],
                    "licence": "Apache-2.0",
                    "tags": ["text"],
                    "run": f"skyrl:{name}",
                }
            }

    def _made(self, place: int) -> Any:
        row = {key: value for key, value in self.rows[place].items() if key != PROMPT}
        try:
            return skyrl_gym.make(self.id, env_config=self.configuration, extras=row)
        except Exception as error:
            raise wanting(f"row {place} of {self.id}", error) from error


def _configuration(entry: Any, options: Mapping[str, Any]) -> Any:
    """Return the configuration of an environment: the defaults of its module, and the options. Raises Failed."""
    try:
        module = importlib.import_module(module_of(entry))
    except Exception as error:
        raise wanting(str(entry), error) from error
    kinds = [one for one in vars(module).values() if isinstance(one, type) and dataclasses.is_dataclass(one)]
    defaults: dict[str, Any] = {}
    for kind in kinds:
        if kind.__name__.endswith("Config"):
            defaults |= {field.name: getattr(kind, field.name, None) for field in dataclasses.fields(kind)}
    unknown = next((name for name in options if name not in defaults), None)
    if unknown is not None:
        known = ", ".join(["data", *defaults])
        raise Failed(f"{unknown} is no option of this environment; it has {known}")
    return SimpleNamespace(**{**defaults, **options})


def _rows(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a file. Raises Failed."""
    if not file.is_file():
        raise Failed(f"data={file}: there is no such file")
    if file.suffix == ".parquet":
        try:
            pandas: Any = importlib.import_module("pandas")
            found = [plain(row) for row in pandas.read_parquet(file).to_dict("records")]
        except ImportError as error:
            raise wanting(f"data={file}", error) from error
    else:
        found = []
        for number_of, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if line.strip():
                try:
                    found.append(json.loads(line))
                except ValueError as error:
                    raise Failed(f"data={file}: line {number_of} is not JSON: {error}") from error
    for place, row in enumerate(found):
        prompt = row.get(PROMPT) if isinstance(row, dict) else None
        messages = isinstance(prompt, list) and all(isinstance(one, dict) and "content" in one for one in prompt)
        if not (isinstance(prompt, str) or (prompt and messages)):
            raise Failed(f"data={file}: row {place} has no `prompt`, a text or a list of messages")
    if not found:
        raise Failed(f"data={file} has no rows")
    return found


def _text(messages: list[Any]) -> str:
    if all(message.get("role") == "user" for message in messages):
        return "\n\n".join(str(message["content"]) for message in messages)
    return "\n\n".join(f"{message.get('role')}: {message['content']}" for message in messages)


def framework() -> SkyRLEnvs:
    """Return what speaks for SkyRL-gym."""
    return SkyRLEnvs()
