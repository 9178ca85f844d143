"""What a technique is: a module beside the model that adds to the prompt, watches the steps, or offers tools.

A technique is declared by the environment's vow, or switched on by the operator. One instance serves one episode.
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
    """Base of the parameters of a technique: every field has a default, unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Act:
    """A tool call becomes this action of the environment."""

    action: Any


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A tool call is answered at once with this text; the environment takes no step."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolRefusal:
    """A tool call cannot be made; the reason goes back to the model, which is asked again."""

    reason: str


class Technique:
    """Base of all techniques; each hook may be left as it is.

    `id` is the name in vows, `parameters` the model of its parameters, with a default for each.
    """

    id: ClassVar[str]
    parameters: ClassVar[type[Params]] = Params

    def __init__(self, params: Params) -> None:
        self.params = params

    async def on_start(self, context: Context) -> None:
        """The episode begins; nothing has been sent to the environment yet."""

    def role(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """Return who acts next, given the newest observation and the info beside it; empty where that is not known."""
        del observation, info
        return ""

    def role_prompt(self, role: str) -> str:
        """Return what only this role is told, after the operator's system prompt."""
        del role
        return ""

    def sections(self, observation: Observation, step: int, role: str) -> Mapping[str, str]:
        """Return sections of the system message for this step, heading to text."""
        del observation, step, role
        return {}

    def tools(self) -> Sequence[Tool]:
        """Return the tools that the model may call in this episode."""
        return ()

    async def call(self, call: ToolCall, context: Context) -> Act | ToolAnswer | ToolRefusal:
        """Return what becomes of a call of one of this technique's tools."""
        del context
        return ToolRefusal(f"tool {call.name!r} cannot be called")

    def result(self, call: ToolCall, step: Step) -> str | None:
        """Return what a tool call that was an action gave, when that is not the observation."""
        del call, step
        return None

    async def after_reply(self, reply: ModelReply, role: str) -> None:
        """The model answered."""

    async def after_step(self, action: Any, step: Step, number: int, role: str) -> None:
        """The environment answered action `number` (1, 2, …)."""

    async def on_end(self, context: Context) -> None:
        """The episode is over, in whatever way."""


@dataclass(frozen=True, slots=True)
class Equipped:
    """A technique ready to be instantiated for an episode."""

    technique: type[Technique]
    params: Params

    def start(self) -> Technique:
        """Return an instance for one episode."""
        return self.technique(self.params)


def technique_class(name: str) -> type[Technique]:
    """Return a technique by name. Raises UnknownName, UsageError when what is registered is not a technique."""
    found = TECHNIQUES.get(name)
    if not (isinstance(found, type) and issubclass(found, Technique)):
        raise UsageError(f"technique {name!r} is {found!r}, no subclass of mesocosm.agents.technique.Technique")
    return found


def check_params(name: str, technique: type[Technique], given: Mapping[str, Any]) -> Params:
    """Return the parameters. Raises UsageError that names every wrong one and lists the known ones."""
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
    """Return the techniques of an episode: those of the vow and those of the operator, whose parameters win.

    What the author of the vow got wrong costs a warning, never the episode: unknown techniques and parameters are left
    out, and parameters of a wrong type keep their default.
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

    Authors write them as plain values (`{"window_size": 6}`) or as a JSON Schema whose properties have a `default` or a
    `const`; both are read.
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
    """Return a registered technique. A vow is foreign text: it must not make us import a module that it names."""
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
