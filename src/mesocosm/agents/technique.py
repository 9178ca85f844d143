"""Techniques: components that add to the prompt, observe the steps, or offer tools.

A technique is declared by the environment's vow, or enabled by the operator. One instance serves one episode.
Plug-ins subclass `Technique` and register the class under the entry point group `mesocosm.techniques`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.message import ToolCall
from mesocosm.core.model import ModelReply, Tool
from mesocosm.core.ports import Context, Observation, Step
from mesocosm.core.registry import TECHNIQUES, fold


class Params(BaseModel):
    """Base class of the parameters of a technique: every field has a default; unknown fields are rejected."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Act:
    """A tool call becomes this action of the environment."""

    action: Any


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A tool call is answered with this text; the environment takes no step.

    `recorded`: the technique has recorded the call with its result.
    """

    text: str
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class ToolRefusal:
    """A tool call is invalid; the reason is passed to the model, which is called again."""

    reason: str


class Technique:
    """Base class of techniques; every hook is optional.

    `id` is the name in vows, `parameters` the class of its parameters.
    """

    id: ClassVar[str]
    parameters: ClassVar[type[Params]] = Params

    def __init__(self, params: Params) -> None:
        self.params = params

    async def on_start(self, context: Context) -> None:
        """The episode begins; nothing has been sent to the environment yet."""

    def role(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """Return the role that acts next, given the newest observation and its info; "" if unknown."""
        del observation, info
        return ""

    def role_prompt(self, role: str) -> str:
        """Return the prompt of this role, which follows the operator's system prompt."""
        del role
        return ""

    def sections(self, observation: Observation, step: int, role: str) -> Mapping[str, str]:
        """Return sections of the system message for this step, by heading."""
        del observation, step, role
        return {}

    def tools(self) -> Sequence[Tool]:
        """Return the tools that the model may call in this episode."""
        return ()

    async def call(self, call: ToolCall, context: Context) -> Act | ToolAnswer | ToolRefusal:
        """Return the outcome of a call of one of this technique's tools."""
        del context
        return ToolRefusal(f"tool {call.name!r} cannot be called")

    def result(self, call: ToolCall, step: Step) -> str | None:
        """Return the result of a tool call that became an action; None if it is the observation."""
        del call, step
        return None

    async def after_reply(self, reply: ModelReply, role: str) -> None:
        """The model has replied."""

    async def after_step(self, action: Any, step: Step, number: int, role: str) -> None:
        """The environment has applied action `number` (1, 2, …)."""

    async def on_end(self, context: Context) -> None:
        """The episode has ended, successfully or not."""


@dataclass(frozen=True, slots=True)
class Equipped:
    """A technique ready to be instantiated for an episode."""

    technique: type[Technique]
    params: Params

    def start(self) -> Technique:
        """Return an instance for one episode."""
        return self.technique(self.params)


def technique_class(name: str) -> type[Technique]:
    """Return a technique by name. Raise UnknownName, or UsageError if the registered object is not a technique."""
    found = TECHNIQUES.get(name)
    if not (isinstance(found, type) and issubclass(found, Technique)):
        raise UsageError(f"technique {name!r} is {found!r}, no subclass of mesocosm.agents.technique.Technique")
    return found


def check_params(name: str, technique: type[Technique], given: Mapping[str, Any]) -> Params:
    """Return the parameters. Raise UsageError, which names invalid ones and lists the known ones."""
    try:
        return technique.parameters.model_validate(dict(given))
    except ValidationError as error:
        known = ", ".join(technique.parameters.model_fields) or "none"
        raise UsageError(f"technique {name!r}: {_listed(error)} (parameters: {known})") from error


def equip(
    vow: Mapping[str, Any],
    overrides: Mapping[str, Mapping[str, Any] | None],
    warn: Callable[[str], None],
    classes: Mapping[str, type[Technique]] = MappingProxyType({}),
) -> tuple[Equipped, ...]:
    """Return the techniques of an episode: those of the vow and those of the operator.

    Parameters of the operator take precedence. Mistakes in the vow only cause warnings: unknown techniques and
    parameters are left out, and invalid parameters keep their default. Raise UsageError for mistakes in `overrides`.
    """
    chosen: dict[str, Equipped] = {}
    for declaration in _declared(vow):
        name = fold(str(declaration.get("technique_id", "")))
        if name in overrides and overrides[name] is None:
            continue
        technique = _known(name)
        if technique is None:
            required = " although the vow requires it" if declaration.get("required") is True else ""
            warn(f"technique {name!r} of the vow is not known here; it is ignored{required}")
            continue
        declared = {**declared_params(declaration.get("config_schema")), **declared_params(declaration.get("params"))}
        usable = _usable(name, technique, declared, warn)
        chosen[name] = Equipped(technique, check_params(name, technique, {**usable, **(overrides.get(name) or {})}))
    for name, params in overrides.items():
        if params is not None and name not in chosen:
            technique = classes.get(name) or technique_class(name)
            chosen[name] = Equipped(technique, check_params(name, technique, params))
    return tuple(chosen.values())


def declared_params(config: Any) -> dict[str, Any]:
    """Return the parameters that a vow's `config_schema` sets.

    Authors write them as plain values (`{"window_size": 6}`) or as a JSON Schema with a `default` or `const` for each
    property; both are supported.
    """
    if not isinstance(config, Mapping):
        return {}
    properties = config.get("properties")
    if not isinstance(properties, Mapping) or not all(isinstance(part, Mapping) for part in properties.values()):
        return dict(config)
    whole = config.get("default")
    params = dict(whole) if isinstance(whole, Mapping) else {}
    for name, part in properties.items():
        if "const" in part or "default" in part:
            params[name] = part.get("const", part.get("default"))
        elif inner := (declared_params(part) if "properties" in part else {}):
            params[name] = inner
    return params


def _declared(vow: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    declarations = vow.get("techniques")
    return [item for item in declarations if isinstance(item, Mapping)] if isinstance(declarations, list) else []


def _known(name: str) -> type[Technique] | None:
    """Return a registered technique or None. A vow is untrusted: it must not cause the import of a module."""
    if ":" in name:
        return None
    try:
        return technique_class(name)
    except UnknownName:
        return None


def _usable(
    name: str, technique: type[Technique], declared: Mapping[str, Any], warn: Callable[[str], None]
) -> dict[str, Any]:
    known = {key: value for key, value in declared.items() if key in technique.parameters.model_fields}
    unknown = [key for key in declared if key not in known and not key.startswith("$")]
    if unknown:
        warn(f"technique {name!r} has no parameter {', '.join(map(repr, unknown[:5]))}; what the vow sets is ignored")
    try:
        technique.parameters.model_validate(known)
    except ValidationError as error:
        warn(f"technique {name!r}: {_listed(error)}; what the vow sets is ignored")
        places = [problem["loc"] for problem in error.errors()]
        wrong = {str(place[0]) for place in places if place}
        known = {key: value for key, value in known.items() if key not in wrong and all(places)}
    return known


def _listed(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'parameters'}: {problem['msg']}" for problem in error.errors()[:5]
    )
