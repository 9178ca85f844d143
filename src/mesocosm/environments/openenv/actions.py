"""The actions of an OpenEnv environment: what an agent chooses from, and the object that is sent."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.json_schema import referred
from mesocosm.core.model import Tool
from mesocosm.core.space import Space, SpaceSpec, SpaceType

METADATA = "metadata"
CALL_TOOL = "call_tool"
MOST_CHOICES = 256
"""Maximum number of values of a field that are offered as choices."""

_OF_BASE = "Additional metadata for the action"
"""The description of the field `metadata` that every action of OpenEnv inherits."""


@dataclass(frozen=True, slots=True)
class ActionForm:
    """The space of actions, and how an action becomes the object that the server reads.

    An action object with one field is chosen by the value of `name` alone; `values` are its choices by their text.
    Without `name` an action is the object itself.
    """

    space: Space
    name: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[Tool, ...] = ()

    @property
    def advice(self) -> str:
        """What may help if the environment fails at an action that its schema allows; empty if nothing is known."""
        space = self.space
        if not self.name or not isinstance(space, SpaceSpec) or space.type is not SpaceType.CONTINUOUS:
            return ""
        return f" (its schema sets no choices for `{self.name}`; if only some are played: -P actions='[0, 1]')"

    def sent(self, action: Any) -> dict[str, Any]:
        """Return the object to send. Raises EpisodeError (malformed_action) if an action cannot become one."""
        if self.name:
            return {self.name: self.values.get(action, action) if isinstance(action, str) else action}
        if not isinstance(action, dict):
            raise EpisodeError(Cause.MALFORMED_ACTION, "the action is no JSON object, and this environment takes one")
        return {"type": CALL_TOOL, **action} if self.tools else action


def takes_tools(schema: Mapping[str, Any]) -> bool:
    """Return whether actions are calls of MCP tools: a tool's name and arguments, or no fields of their own."""
    names = _own(schema).keys()
    return not names or names >= {"tool_name", "arguments"}


def action_form(schema: Mapping[str, Any], tools: Sequence[Tool] = (), actions: Sequence[Any] = ()) -> ActionForm:
    """Return the form of the actions of a JSON Schema from GET /schema.

    With `tools`, an action is a call of one of them. An object whose one field is required and of a simple type is
    chosen by that field: from its choices if it has some, as a number, or as text. `actions` are the choices if the
    schema does not name them. Raises UsageError if they cannot be the values of one field.
    """
    if tools:
        if actions:
            raise UsageError("the actions of this environment are calls of tools, so `actions` cannot be chosen")
        return ActionForm(_calls(tools), tools=tuple(tools))
    own, required = _own(schema), schema.get("required")
    if len(own) == 1 and required == [*own]:
        name, declared = next(iter(own.items()))
        rules = referred(declared, schema)
        # A reference may have a description of its own beside it.
        beside = declared.get("description") if isinstance(declared, Mapping) else None
        if form := _of_field(name, rules, str(beside or rules.get("description") or ""), actions):
            return form
    if actions:
        fields = ", ".join(own) or "none"
        raise UsageError(f"`actions` are the values of an action's only field, and here its fields are: {fields}")
    properties = schema.get("properties")
    whole = {**schema, "properties": own} if isinstance(properties, Mapping) else dict(schema)
    words = str(schema.get("description") or "")
    return ActionForm(SpaceSpec(type=SpaceType.JSON, schema_ref=json.dumps(whole), description=words))


def observation_space(schema: Mapping[str, Any]) -> SpaceSpec:
    """Return the space of observations: without the fields that are sent beside them, reward and end.

    The schema is only described, because the server itself checks what it sends: to check the 3,600 numbers of a small
    board again took 40 ms at each step, and what a reset sends is often less than the schema says.
    """
    properties, required = schema.get("properties"), schema.get("required")
    whole = dict(schema)
    if isinstance(properties, Mapping):
        whole["properties"] = {name: rules for name, rules in properties.items() if name not in _BESIDE}
    if isinstance(required, list):
        whole["required"] = [name for name in required if name not in _BESIDE]
    words = str(whole.pop("description", "") or "a JSON object")
    return SpaceSpec(
        type=SpaceType.JSON,
        description=f"{words}\nIt follows this JSON Schema: {json.dumps(whole, ensure_ascii=False)}",
    )


_BESIDE = frozenset({"reward", "done"})


def _own(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an action without those that every action of OpenEnv has."""
    properties = schema.get("properties")
    found = properties if isinstance(properties, Mapping) else {}
    return {
        name: rules
        for name, rules in found.items()
        if not (name == METADATA and isinstance(rules, Mapping) and rules.get("description") == _OF_BASE)
    }


def _of_field(name: str, rules: Mapping[str, Any], words: str, actions: Sequence[Any]) -> ActionForm | None:
    choices = list(actions) or _choices(rules)
    kind = rules.get("type")
    if choices:
        values = {_spelled(value): value for value in choices}
        if len(values) < len(choices):
            return None
        return ActionForm(SpaceSpec(type=SpaceType.DISCRETE, enum_values=[*values], description=words), name, values)
    if kind in {"integer", "number"}:
        low, high = _bounds(rules)
        bounds = {key: value for key, value in (("low", low), ("high", high)) if value is not None}
        dtype = "int64" if kind == "integer" else "float64"
        return ActionForm(
            SpaceSpec(type=SpaceType.CONTINUOUS, dtype=dtype, bounds=bounds or None, description=words), name
        )
    if kind == "string":
        examples = rules.get("examples")
        return ActionForm(SpaceSpec(type=SpaceType.TEXT, description=words, examples=examples), name)
    return None


def _choices(rules: Mapping[str, Any]) -> list[Any]:
    """Return the values of a field if they are few; [] otherwise."""
    options = rules.get("enum")
    if isinstance(options, list) and all(isinstance(option, str | int | float) for option in options):
        return options if len(options) <= MOST_CHOICES else []
    if isinstance(rules.get("const"), str | int | float):
        return [rules["const"]]
    if rules.get("type") == "boolean":
        return [True, False]
    low, high = _bounds(rules)
    if rules.get("type") == "integer" and low is not None and high is not None and 0 <= high - low < MOST_CHOICES:
        return list(range(int(low), int(high) + 1))
    return []


def _bounds(rules: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the least and the greatest value of a number; for one that is not whole, an excluded bound is ignored."""
    whole = rules.get("type") == "integer"
    low, high = _number(rules, "minimum"), _number(rules, "maximum")
    above, under = _number(rules, "exclusiveMinimum"), _number(rules, "exclusiveMaximum")
    if above is not None:
        low = above + whole
    if under is not None:
        high = under - whole
    return low, high


def _number(rules: Mapping[str, Any], key: str) -> float | None:
    value = rules.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _spelled(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _calls(tools: Sequence[Tool]) -> SpaceSpec:
    forms = [
        {
            "type": "object",
            "properties": {
                "type": {"const": CALL_TOOL},
                "tool_name": {"const": tool.name},
                "arguments": {"type": "object", **tool.parameters},
            },
            "required": ["type", "tool_name", "arguments"],
        }
        for tool in tools
    ]
    return SpaceSpec(
        type=SpaceType.JSON,
        schema_ref=json.dumps(forms[0] if len(forms) == 1 else {"type": "object", "anyOf": forms}),
        description="a call of one of the tools",
    )
