"""Generate scenarios from the texts in `scenarios/` and a seed, with random names, ids and numbers."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from mesocosm.benchmarks.builtin.orchestrator_lifecycle.registry import AGENTS
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.scenario import Scenario

FOLDER = Path(__file__).with_name("scenarios")
NEW = "new"
"""Key of the task that the agent starts."""
FURTHER = 4
"""Number of further tasks that can be started, so that needless ones are possible and can be detected."""
_NUMBERS = range(100, 1000)
_PROGRESS = [number for number in range(11, 98) if number % 10]
"""Progress values are unique in a scenario and never those of a new or ended task, so that each proves a look-up."""
_PLACEHOLDER = re.compile(r"\{(\w+)\.(\w+)\}")
_NAMES = ("ada", "bram", "cleo", "dara", "edda", "finn", "gus", "hale", "iris", "jory", "kit", "lune")


class TaskTemplate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task in an intent's initial registry: its title is drawn, or made similar to that of `twin`."""

    key: str
    status: str
    twin: str = ""


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One wording of an intent: the user's message in each turn, and the words that must be passed on."""

    name: str
    say: tuple[str, ...]
    words: dict[str, tuple[tuple[str, ...], ...]] = {}


class Intent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all wordings of an intent share. Turns are those of a Scenario without the user's messages."""

    intent: str
    category: str
    title: str
    tasks: tuple[TaskTemplate, ...]
    turn: tuple[dict[str, Any], ...]
    variant: tuple[Variant, ...]


class Pools(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The texts to draw from: pairs of titles, and texts with the word that proves that they were read."""

    topics: tuple[tuple[str, str], ...]
    doing: tuple[tuple[str, str], ...]
    reasons: tuple[tuple[str, str], ...]
    results: tuple[str, ...]


@cache
def intents() -> tuple[Intent, ...]:
    """Return all intents, sorted by name."""
    files = sorted((FOLDER / "intents").glob("*.toml"))
    return tuple(msgspec.convert(tomllib.loads(file.read_text("utf-8")), Intent) for file in files)


@cache
def pools() -> Pools:
    """Return the pools."""
    return msgspec.convert(tomllib.loads((FOLDER / "pools.toml").read_text("utf-8")), Pools)


def generate(seed: int) -> Iterator[Scenario]:
    """Yield every wording of every intent; equal seeds give equal scenarios."""
    for intent in intents():
        for variant in intent.variant:
            yield _scenario(intent, variant, Random(f"{seed}/{intent.intent}/{variant.name}"))


def _scenario(intent: Intent, variant: Variant, rng: Random) -> Scenario:
    facts = _facts(intent, rng)
    turns = []
    for say, turn in zip(variant.say, intent.turn, strict=True):
        turns.append(_filled({**_worded(turn, variant), "user": say}, facts))
    items = [_item(facts[template.key]) for template in intent.tasks]
    rng.shuffle(items)
    whole = {
        "id": f"{intent.intent}-{variant.name}",
        "intent": intent.intent,
        "category": intent.category,
        "title": intent.title,
        "items": items,
        "turns": turns,
        "fresh": [(facts[NEW]["id"], facts[NEW]["session"]), *_fresh(rng, facts)],
    }
    return msgspec.convert(whole, Scenario, strict=False)


def _facts(intent: Intent, rng: Random) -> dict[str, dict[str, Any]]:
    """Return the placeholder values for each task of an intent."""
    drawn = pools()
    keys = [*(template.key for template in intent.tasks), NEW]
    topics = rng.sample(drawn.topics, len(keys))
    numbers = rng.sample(_NUMBERS, len(keys))
    progress = rng.sample(_PROGRESS, len(keys))
    names = rng.sample(_NAMES, len(keys))
    doing = rng.sample(drawn.doing, len(keys))
    reasons = rng.sample(drawn.reasons, len(drawn.reasons))
    facts: dict[str, dict[str, Any]] = {}
    for place, key in enumerate(keys):
        template = intent.tasks[place] if key != NEW else TaskTemplate(NEW, "running")
        twins = [at for at, other in enumerate(intent.tasks) if other.key == template.twin]
        figure = rng.randrange(1_101, 9_999)
        facts[key] = {
            "id": f"T-{numbers[place]}",
            "title": topics[twins[0]][1] if twins else topics[place][0],
            "agent": rng.choice(list(AGENTS)),
            "session": f"{names[place]}-{rng.randrange(2, 10)}",
            "status": template.status,
            "progress": progress[place] if template.status != "done" else 100,
            "doing": doing[place][0],
            "doing_word": doing[place][1],
            "reason": reasons[place % len(reasons)][0],
            "reason_word": reasons[place % len(reasons)][1],
            "figure": figure,
            "result": rng.choice(drawn.results).format(figure=figure),
        }
    return facts


def _item(facts: Mapping[str, Any]) -> dict[str, Any]:
    item = {name: facts[name] for name in ("id", "title", "agent", "session", "status", "progress")}
    match facts["status"]:
        case "done":
            return {**item, "result": facts["result"]}
        case "failed":
            return {**item, "note": f"failed: {facts['reason']}"}
    return {**item, "note": facts["doing"]}


def _fresh(rng: Random, facts: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return ids and sessions for tasks beyond the first that is started."""
    used = {one["id"] for one in facts.values()}
    drawn = (f"T-{number}" for number in rng.sample(_NUMBERS, len(used) + FURTHER))
    free = [identifier for identifier in drawn if identifier not in used][:FURTHER]
    return [(identifier, f"{rng.choice(_NAMES)}-{place}") for place, identifier in enumerate(free, 11)]


def _worded(turn: Mapping[str, Any], variant: Variant) -> dict[str, Any]:
    """Return a turn with the names of words replaced by the words of this wording."""
    effects = [{**one, "says": variant.words[one["says"]]} if "says" in one else one for one in turn.get("effects", ())]
    reply = dict(turn["reply"])
    if "asks" in reply:
        reply["asks"] = variant.words[reply["asks"]][0]
    return {**turn, "effects": effects, "reply": reply}


def _filled(value: Any, facts: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return a part of a turn with all placeholders filled in."""
    if isinstance(value, Mapping):
        return {name: _filled(part, facts) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(part, facts) for part in value]
    if not isinstance(value, str):
        return value
    return _PLACEHOLDER.sub(lambda found: str(facts[found[1]][found[2]]), value)
