"""Technique `tool_calling`: tools of the environment, called through its step.

A call becomes an action, and the next observation is the tool's result. The action space determines the form of the
action: `{"tool": …, "arguments": {…}}` for text and free JSON, the corresponding fields for an object with fields for
name and arguments, the tool's name for a discrete space that contains it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator, model_validator

from mesocosm.agents.observation import text_of
from mesocosm.agents.technique import Act, Params, Technique, ToolAnswer, ToolRefusal
from mesocosm.agents.tool_text import HEADING, listed
from mesocosm.core.message import ToolCall
from mesocosm.core.model import Tool
from mesocosm.core.ports import Context, Observation, Step
from mesocosm.core.space import CompositeSpace, Space, SpaceSpec, SpaceType, deviations

NAME_FIELDS = ("tool", "tool_name", "name", "function", "tool_call", "action")
ARGUMENT_FIELDS = ("arguments", "args", "tool_arguments", "parameters", "params", "tool_input", "input", "kwargs")


class ToolParams(BaseModel):
    """One tool; a bare name and OpenAI's form (`{"type": "function", "function": {…}}`) are also accepted."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str = Field(min_length=1)
    description: str = ""
    parameters: dict[str, Any] = Field(
        default_factory=dict, validation_alias=AliasChoices("parameters", "input_schema", "schema", "arguments")
    )

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"name": given}
        if isinstance(given, Mapping) and isinstance(given.get("function"), Mapping):
            return given["function"]
        return given


class ToolCallingParams(Params):
    """Parameters of `tool_calling`.

    `dispatch` is how to handle calls: `action` sends them to the environment, `none` only lists the tools in the
    prompt, `auto` sends them if the action space has a form for them. `shape` overrides that form: JSON with the
    placeholders `{name}` and `{arguments}`. `result_field` is the field of the step's info with the result; without it
    the result is the observation.
    """

    tools: list[ToolParams] = Field(default_factory=list)
    dispatch: Literal["auto", "action", "none"] = "auto"
    shape: Any = None
    result_field: str = "tool_result"

    @field_validator("tools", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            return [{"name": name, **(tool if isinstance(tool, Mapping) else {})} for name, tool in given.items()]
        return given


@dataclass(frozen=True, slots=True)
class Form:
    """The form of an action that represents a tool call; see the module's docstring."""

    template: Any
    as_text: bool = False

    def action(self, call: ToolCall) -> Any:
        """Return the action for a call."""
        filled = _filled(self.template, call)
        return json.dumps(filled, ensure_ascii=False) if self.as_text else filled


PLAIN = {"tool": "{name}", "arguments": "{arguments}"}


def _filled(template: Any, call: ToolCall) -> Any:
    if template == "{name}":
        return call.name
    if template == "{arguments}":
        return call.arguments
    if template == "{arguments as text}":
        return text_of(call.arguments)
    if isinstance(template, dict):
        filled = {key: _filled(value, call) for key, value in template.items() if key != "{arguments}"}
        return {**filled, **call.arguments} if "{arguments}" in template else filled
    if isinstance(template, list):
        return [_filled(item, call) for item in template]
    return template


def form_of(space: Space | None, names: Sequence[str]) -> Form | None:
    """Return the form in which an action space represents calls of the tools `names`, None if it has none."""
    if space is None:
        return Form(PLAIN, as_text=True)
    if isinstance(space, CompositeSpace):
        return _of_fields({name: _kind(part) for name, part in space.fields.items()}, set(space.fields))
    if space.type is SpaceType.JSON:
        return _of_schema(space)
    if space.type is SpaceType.DISCRETE:
        return Form("{name}") if set(names) <= set(space.enum_values or ()) else None
    return Form(PLAIN, as_text=True) if space.type is SpaceType.TEXT else None


def _of_schema(space: SpaceSpec) -> Form | None:
    schema = space.json_schema or {}
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return Form(PLAIN) if schema.get("type", "object") == "object" else None
    required = schema.get("required")
    kinds = {name: part.get("type", "") if isinstance(part, Mapping) else "" for name, part in properties.items()}
    return _of_fields(kinds, set(required) if isinstance(required, list) else set())


def _of_fields(kinds: Mapping[str, str], required: set[str]) -> Form | None:
    """Return the form of an object with these fields and kinds (`string` is text)."""
    name = next((field for field in NAME_FIELDS if field in kinds), None)
    if name is None:
        return None
    arguments = next((field for field in ARGUMENT_FIELDS if field in kinds and field != name), None)
    if arguments is None:
        return Form({name: "{name}", "{arguments}": None})
    if required - {name, arguments}:
        return None
    return Form({name: "{name}", arguments: "{arguments as text}" if kinds[arguments] == "string" else "{arguments}"})


def _kind(space: Space) -> str:
    return "string" if isinstance(space, SpaceSpec) and space.type is SpaceType.TEXT else ""


class ToolCalling(Technique):
    """Offers the environment's tools to the model, and turns calls into actions."""

    id = "tool_calling"
    parameters = ToolCallingParams
    params: ToolCallingParams

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self._tools = tuple(Tool(tool.name, tool.description, tool.parameters) for tool in self.params.tools)
        self._form: Form | None = None
        self._space: Space | None = None

    async def on_start(self, context: Context) -> None:
        """Determine the action space's form for calls; warn if there is none."""
        self._space = context.action_space
        if self.params.dispatch == "none" or not self._tools:
            return
        if self.params.shape is not None:
            self._form = Form(self.params.shape)
            return
        self._form = form_of(self._space, [tool.name for tool in self._tools])
        if self._form is None and self.params.dispatch == "action":
            self._form = Form(PLAIN)
        if self._form is None:
            context.warn(
                "the action space has no form for tool calls; they are only listed in the prompt (see `shape`)"
            )

    def tools(self) -> Sequence[Tool]:
        """Return the tools that can be called; none if they are only listed."""
        return self._tools if self._form is not None else ()

    def sections(self, observation: Observation, step: int, role: str) -> Mapping[str, str]:
        """Return the list of tools if they cannot be called; otherwise the loop presents them to the model."""
        del observation, step, role
        return {HEADING: listed(self._tools)} if self._tools and self._form is None else {}

    async def call(self, call: ToolCall, context: Context) -> Act | ToolAnswer | ToolRefusal:
        """Return the action for a call, or a refusal if it is not in the action space."""
        del context
        if self._form is None:
            return ToolRefusal(f"tool {call.name!r} cannot be called")
        action = self._form.action(call)
        problems = deviations(self._space, action, limit=3) if self._space is not None else []
        if problems and self.params.dispatch != "action" and self.params.shape is None:
            return ToolRefusal(f"the call of {call.name} makes no valid action: {'; '.join(problems)}")
        return Act(action)

    def result(self, call: ToolCall, step: Step) -> str | None:
        """Return the result in the step's info, None if there is none."""
        del call
        found = step.info.get(self.params.result_field)
        return None if found is None else text_of(found)
