"""The binding vow: an environment's contract on observations, actions, rewards and episodes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field

from mesocosm.core.failure import InvalidInput, Problem
from mesocosm.core.info import Malformed
from mesocosm.core.json_schema import spelled
from mesocosm.core.reading import format_value, join, not_an_object, read_fields, unknown_keys
from mesocosm.core.space import Space, SpaceField, SpaceSpec, parse_space

LARGEST = 2**53 - 1
"""Largest count that every JSON reader represents exactly (RFC 8259, section 6)."""

_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_RANGE = re.compile(r"([\^~]?[0-9]+(\.[0-9]+){1,2})?")


class VowViolation(InvalidInput):
    """A binding vow breaks its rules."""

    @property
    def violations(self) -> list[str]:
        """The problems as sentences, each starting with its path."""
        return [str(problem) for problem in self.problems]


class RewardSpec(BaseModel):
    """The declared form of rewards. Step rewards are always single numbers; their sum is the episode's reward."""

    type: Literal["scalar", "vector", "sparse", "binary"] = Field(description="one of scalar, vector, sparse, binary")
    range: dict[str, float] | None = Field(default=None, description='an object such as {"low": 0, "high": 1}')
    description: str = Field(default="", description="a text")

    @property
    def low(self) -> float | None:
        """The declared minimum reward of an episode, or None."""
        return (self.range or {}).get("low")

    @property
    def high(self) -> float | None:
        """The declared maximum reward of an episode, or None."""
        return (self.range or {}).get("high")


class EpisodeSemantics(BaseModel):
    """How an episode runs: budgets (None: unlimited), seeds, concurrency.

    Scaffolds wrote `parallel_episodes: 1` into every manifest, so 1 is not a limit; use `parallel_limit` and
    `parallel_default`. `max_parallel_episodes` is always a limit.
    """

    max_steps: int | None = Field(default=None, description="a whole number of at least 1, or null")
    max_wall_seconds: int | None = Field(default=None, description="a whole number of at least 1, or null")
    deterministic_reset: bool = Field(default=False, description="true or false")
    supports_seed: bool = Field(default=True, description="true or false")
    parallel_episodes: int = Field(default=1, description="a whole number of at least 1")
    max_parallel_episodes: int | None = Field(default=None, description="a whole number of at least 1, or null")
    observability: Literal["full", "partial"] = Field(default="full", description="full or partial")

    malformed_actions: Malformed | None = Field(default=None, description="pass, ask, fail, or null")

    @property
    def parallel_limit(self) -> int | None:
        """The maximum number of concurrent episodes; None if the author set no limit."""
        if self.max_parallel_episodes is not None:
            return self.max_parallel_episodes
        return self.parallel_episodes if self.parallel_episodes > 1 else None

    @property
    def parallel_default(self) -> int | None:
        """The declared `parallel_episodes` if it is not a limit; None if it is one or is not declared."""
        written = "parallel_episodes" in self.model_fields_set
        return self.parallel_episodes if written and self.parallel_limit is None else None


class TechniqueDeclaration(BaseModel):
    """A technique that agents may use in an environment; `config_schema` contains its default parameters."""

    technique_id: str = Field(description="the name of a technique, such as memory")
    version: str = Field(default="^1.0", description="a version such as ^1.0, ~1.2 or 1.2.3")
    config_schema: dict[str, Any] | None = Field(default=None, description="an object of parameters, or null")
    required: bool = Field(default=False, description="true or false")


class BindingVow(BaseModel):
    """The contract of an environment. The constructor checks types; `validate` also checks the rules."""

    id: str = Field(default="", description="a text")
    domain_id: str = Field(default="", description="a text")
    version: str = Field(description='three whole numbers as text, such as "1.0.0"')
    tier: Literal["tier1", "tier2"] = Field(description="tier1 or tier2")
    description: str = Field(default="", description="a text that goes into the agent's prompt")
    observation_space: SpaceField = Field(description='a space such as {"type": "json"}')
    action_space: SpaceField = Field(description='a space such as {"type": "text"}')
    reward: RewardSpec = Field(description='an object such as {"type": "binary", "range": {"low": 0, "high": 1}}')
    episode: EpisodeSemantics = Field(description='an object such as {"max_steps": 30}; it may be empty')
    techniques: list[TechniqueDeclaration] = Field(default=[], description="a list of objects with `technique_id`")
    metadata: dict[str, Any] = Field(default={}, description="an object for the author's own use")

    def validate(self) -> None:  # type: ignore[override]
        """Check every rule. Raise VowViolation with all problems."""
        _, problems = read_vow(self.model_dump(mode="json", exclude_none=True))
        errors = [problem for problem in problems if problem.severity == "error"]
        if errors:
            raise VowViolation(f"binding vow {self.id or self.version}", errors)


_TEXT = SpaceSpec.model_validate({"type": "text"})
_REWARD = RewardSpec(type="scalar")
_STAND_INS: dict[str, Any] = {
    "version": "0.0.0",
    "tier": "tier1",
    "observation_space": _TEXT,
    "action_space": _TEXT,
    "reward": _REWARD,
    "episode": EpisodeSemantics(),
}
_HARMLESS = frozenset({"text", "name", "title", "notes", "comment", "termination", "scenarios"})


def read_vow(raw: object, path: str = "binding_vow") -> tuple[BindingVow | None, list[Problem]]:
    """Read a binding vow from JSON. Return it with all errors and warnings; it is None if there is an error.

    Accept any JSON value and never raise.
    """
    if isinstance(raw, BindingVow):
        raw = raw.model_dump(mode="json", exclude_none=True)
    if not isinstance(raw, Mapping):
        return None, [not_an_object(raw, path, "the binding vow")]
    problems: list[Problem] = []
    parts = dict(raw)
    parts.update(_spaces(raw, path, problems))
    if "reward" in raw:
        parts["reward"] = _reward(raw["reward"], join(path, "reward"), problems)
    if "episode" in raw:
        parts["episode"] = _episode(raw["episode"], join(path, "episode"), problems)
    if isinstance(raw.get("techniques"), list):
        parts["techniques"] = _techniques(raw["techniques"], join(path, "techniques"), problems)
    reading = read_fields(BindingVow, parts, path, _STAND_INS)
    problems += [*reading.problems, *_version(reading.partial, path)]
    problems += unknown_keys(raw, BindingVow.model_fields, path, harmless=_HARMLESS)
    broken = any(problem.severity == "error" for problem in problems)
    return (None if broken else reading.value), problems


def _spaces(raw: Mapping[str, Any], path: str, problems: list[Problem]) -> dict[str, Space]:
    names = [name for name in ("observation_space", "action_space") if name in raw]
    return {name: parse_space(raw[name], join(path, name), problems) or _TEXT for name in names}


def _version(vow: BindingVow, path: str) -> Iterator[Problem]:
    if not _VERSION.fullmatch(vow.version):
        message = f"must be exactly three whole numbers joined by dots, not {format_value(vow.version)}"
        yield Problem(join(path, "version"), message, 'write for example "1.0.0"')


def _reward(raw: object, path: str, problems: list[Problem]) -> RewardSpec:
    if isinstance(raw, RewardSpec):
        raw = raw.model_dump(exclude_none=True)
    if not isinstance(raw, Mapping):
        problems.append(not_an_object(raw, path, "the reward"))
        return _REWARD
    reading = read_fields(RewardSpec, raw, path, {"type": "scalar"})
    problems += reading.problems
    problems += unknown_keys(raw, RewardSpec.model_fields, path, renamed={"min": "range", "max": "range"})
    low, high = reading.partial.low, reading.partial.high
    if low is not None and high is not None and not low < high:
        message = f"low ({spelled(low)}) must be less than high ({spelled(high)})"
        problems.append(Problem(join(path, "range"), message, "swap or widen the range"))
    for key in reading.partial.range or {}:
        if key not in ("low", "high"):
            place = join(join(path, "range"), key)
            problems.append(Problem(place, "is not read; a range has `low` and `high`", "rename it", "warning"))
    return reading.partial


def _episode(raw: object, path: str, problems: list[Problem]) -> EpisodeSemantics:
    if isinstance(raw, EpisodeSemantics):
        raw = raw.model_dump(exclude_none=True)
    if not isinstance(raw, Mapping):
        problems.append(not_an_object(raw, path, "the episode"))
        return EpisodeSemantics()
    reading = read_fields(EpisodeSemantics, raw, path, {})
    problems += reading.problems
    problems += unknown_keys(raw, EpisodeSemantics.model_fields, path, harmless=_HARMLESS)
    for name in ("max_steps", "max_wall_seconds", "parallel_episodes", "max_parallel_episodes"):
        number = getattr(reading.partial, name)
        if number is not None and number < 1:
            fix = "write 1 or more" if name == "parallel_episodes" else "write 1 or more, or leave it out for no limit"
            problems.append(Problem(join(path, name), f"must be at least 1, not {spelled(number)}", fix))
        elif number is not None and number > LARGEST:
            message = f"must be at most {LARGEST}, not {spelled(number)}"
            problems.append(Problem(join(path, name), message, "leave it out for no limit"))
    return reading.partial


def _techniques(raw: list[Any], path: str, problems: list[Problem]) -> list[TechniqueDeclaration]:
    found: list[TechniqueDeclaration] = []
    for index, given in enumerate(raw):
        place = join(path, index)
        item = given.model_dump(exclude_none=True) if isinstance(given, TechniqueDeclaration) else given
        if not isinstance(item, Mapping):
            problems.append(not_an_object(item, place, "the technique"))
            continue
        reading = read_fields(TechniqueDeclaration, item, place, {"technique_id": "unnamed"})
        problems += reading.problems
        problems += _technique_rules(reading.partial, place)
        problems += unknown_keys(item, TechniqueDeclaration.model_fields, place, renamed=_TECHNIQUE_WORDS)
        if any(other.technique_id == reading.partial.technique_id for other in found):
            message = f"{reading.partial.technique_id!r} is declared twice; the last one counts"
            problems.append(Problem(place, message, "declare each technique once", "warning"))
        found.append(reading.partial)
    return found


_TECHNIQUE_WORDS = {
    **dict.fromkeys(("id", "name", "technique"), "technique_id"),
    **dict.fromkeys(("params", "config", "parameters"), "config_schema"),
}


def _technique_rules(technique: TechniqueDeclaration, path: str) -> Iterator[Problem]:
    if not technique.technique_id.strip():
        yield Problem(join(path, "technique_id"), "must not be empty", "name a technique, such as memory")
    if not _RANGE.fullmatch(technique.version):
        message = (
            f"must be two or three whole numbers, with ^ or ~ in front if wanted, not {format_value(technique.version)}"
        )
        yield Problem(join(path, "version"), message, 'write for example "^1.0"')
