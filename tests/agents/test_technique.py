from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mesocosm.agents.loop import MOST_ANSWERS, open_loop
from mesocosm.agents.memory import Memory
from mesocosm.agents.technique import Act, Params, Technique, ToolAnswer, ToolRefusal, declared_params, equip
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.message import ToolCall
from mesocosm.core.model import Capabilities, ModelReply, Tool
from mesocosm.core.ports import Context, Observation, Step
from mesocosm.core.registry import TECHNIQUES
from mesocosm.testing.context import MemoryContext, ScriptedEnvironment


def vow(**declaration: Any) -> dict[str, Any]:
    return {"techniques": [{"technique_id": "memory", **declaration}]}


def window(declared: Mapping[str, Any], overrides: Mapping[str, Any] | None = None) -> tuple[Any, list[str]]:
    warnings: list[str] = []
    (equipped,) = equip(declared, {"memory": overrides} if overrides is not None else {}, warnings.append)
    return equipped.params, warnings


def test_parameters_written_as_plain_values_are_used() -> None:
    params, warnings = window(vow(config_schema={"window_size": 6}))
    assert params.window_size == 6
    assert warnings == []


def test_parameters_written_as_defaults_of_a_schema_are_used() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"window_size": {"type": "integer", "default": 4}, "summarize_after": {"const": 20}},
    }
    params, warnings = window(vow(config_schema=schema))
    assert (params.window_size, params.summarize_after) == (4, 20)
    assert warnings == []


def test_the_operator_wins_over_the_vow_parameter_by_parameter() -> None:
    params, _ = window(vow(config_schema={"window_size": 6, "summarize_after": 9}), {"window_size": 2})
    assert (params.window_size, params.summarize_after) == (2, 9)


def test_unknown_and_wrong_parameters_of_a_vow_cost_a_warning_each() -> None:
    params, warnings = window(vow(config_schema={"window_size": "many", "colour": 1, "summarize_after": 3}))
    assert (params.window_size, params.summarize_after) == (10, 3)
    assert any("colour" in warning for warning in warnings)
    assert any("window_size" in warning for warning in warnings)


@pytest.mark.parametrize("config", [None, 5, [], "x", {}])
def test_no_usable_configuration_means_defaults(config: Any) -> None:
    assert window(vow(config_schema=config))[0].window_size == 10


def test_names_are_equal_in_any_spelling() -> None:
    assert len(equip({"techniques": [{"technique_id": "Tool-Calling"}]}, {"tool-calling": {}}, print)) == 1


@pytest.mark.parametrize("techniques", [None, "memory", [5], [{}], [{"technique_id": None}]])
def test_a_vow_without_sense_equips_nothing(techniques: Any) -> None:
    assert equip({"techniques": techniques}, {}, lambda _: None) == ()


def test_nested_schemas_and_whole_defaults() -> None:
    assert declared_params({"properties": {"a": {"properties": {"b": {"default": 1}}}}}) == {"a": {"b": 1}}
    assert declared_params({"default": {"a": 1}, "properties": {"b": {"type": "string"}}}) == {"a": 1}
    assert declared_params({"properties": 5, "a": 1}) == {"properties": 5, "a": 1}


def test_impossible_parameters_of_the_operator_are_an_error() -> None:
    with pytest.raises(UsageError, match="window_size"):
        equip(vow(), {"memory": {"window_size": -1}}, print)


class DiceParams(Params):
    sides: int = 6


class Dice(Technique):
    """A technique as a plug-in would write it: a tool of its own and a tool that acts."""

    id = "dice"
    parameters = DiceParams
    params: DiceParams
    log: list[str] = []  # noqa: RUF012

    async def on_start(self, context: Context) -> None:
        self.log.append(f"start {context.task.id}")

    def role_prompt(self, role: str) -> str:
        return f"You roll{role}."

    def sections(self, observation: Observation, step: int, role: str) -> Mapping[str, str]:
        return {"Dice": f"{self.params.sides} sides, step {step}"}

    def tools(self) -> Sequence[Tool]:
        return (Tool("roll"), Tool("stop"), Tool("cheat"))

    async def call(self, call: ToolCall, context: Context) -> Act | ToolAnswer | ToolRefusal:
        if call.name == "cheat":
            return ToolRefusal("nobody cheats here")
        return ToolAnswer("a three") if call.name == "roll" else Act(call.name)

    async def after_reply(self, reply: ModelReply, role: str) -> None:
        self.log.append("reply")

    async def after_step(self, action: Any, step: Step, number: int, role: str) -> None:
        self.log.append(f"step {number} {action}")

    async def on_end(self, context: Context) -> None:
        self.log.append("end")


@pytest.fixture
def dice(monkeypatch: pytest.MonkeyPatch) -> type[Dice]:
    monkeypatch.setattr(TECHNIQUES, "_own", dict(TECHNIQUES._own))
    TECHNIQUES.register("dice")(Dice)
    monkeypatch.setattr(Dice, "log", [])
    return Dice


def calls(*names: str) -> ModelReply:
    return ModelReply("", tool_calls=tuple(ToolCall(f"c{n}", name, {}) for n, name in enumerate(names)))


TOOLS = Capabilities(tools=True)


async def test_a_plug_in_meets_every_hook_in_order(dice: type[Dice]) -> None:
    context = MemoryContext(ScriptedEnvironment("a", "b"), [calls("roll"), calls("stop")], capabilities=TOOLS)
    await open_loop({"techniques": {"dice": {"sides": 8}}}).play(context)
    assert dice.log == ["start task-0", "reply", "reply", "step 1 stop", "end"]
    system = context.requests[0].messages[0].text
    assert "You roll." in system
    assert "## Dice\n8 sides, step 1" in system


async def test_answers_of_a_technique_reach_the_model_without_a_step(dice: type[Dice]) -> None:
    context = MemoryContext(ScriptedEnvironment("a", "b"), [calls("roll"), "done"], capabilities=TOOLS)
    await open_loop({"techniques": {"dice": {}}}).play(context)
    *_, asked, answered, again = context.requests[1].messages
    assert asked.tool_calls
    assert (answered.role, answered.text, answered.tool_call_id) == ("tool", "a three", "c0")
    assert again.text == "[Step 1]\na"
    assert context.steps == 1


async def test_a_refused_call_is_asked_for_again_and_none_is_made(dice: type[Dice]) -> None:
    context = MemoryContext(ScriptedEnvironment("a", "b"), [calls("stop", "cheat"), "done"], capabilities=TOOLS)
    await open_loop({"techniques": {"dice": {}}}).play(context)
    assert "nobody cheats here" in context.requests[1].messages[-1].text
    assert [acted.action for acted in context.actions] == ["done"]


async def test_calling_tools_for_ever_fails_the_episode(dice: type[Dice]) -> None:
    context = MemoryContext(ScriptedEnvironment("a", "b"), lambda _: calls("roll"), capabilities=TOOLS)
    with pytest.raises(EpisodeError) as caught:
        await open_loop({"techniques": {"dice": {}}}).play(context)
    assert caught.value.cause is Cause.MALFORMED_ACTION
    assert len(context.requests) == MOST_ANSWERS


async def test_the_end_is_told_even_when_the_episode_fails(dice: type[Dice]) -> None:
    context = MemoryContext(ScriptedEnvironment("a", "b"), [EpisodeError(Cause.MODEL_TIMEOUT, "late")])
    with pytest.raises(EpisodeError):
        await open_loop({"techniques": {"dice": {}}}).play(context)
    assert dice.log[-1] == "end"


async def test_the_base_of_techniques_does_nothing() -> None:
    context = MemoryContext(ScriptedEnvironment("a"))
    bare = Technique(Params())
    assert bare.role(Observation(), {}) == bare.role_prompt("") == ""
    assert (list(bare.tools()), dict(bare.sections(Observation(), 1, ""))) == ([], {})
    assert isinstance(await bare.call(ToolCall("1", "x", {}), context), ToolRefusal)
    assert Memory.id == "memory"
