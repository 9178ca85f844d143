import pytest

from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.model import ModelReply, ModelRequest
from mesocosm.core.ports import Context, Observation, Step
from mesocosm.core.space import SpaceSpec
from mesocosm.testing.context import MemoryContext, ScriptedEnvironment, ScriptEnded


def context(**given: object) -> MemoryContext:
    return MemoryContext(ScriptedEnvironment("a", Step(Observation("b"), 0.5), "c"), ["one"], **given)  # type: ignore[arg-type]


async def test_implements_the_protocol_that_agents_meet() -> None:
    meets: Context = context()
    assert (await meets.reset()).data == "a"


async def test_the_last_entry_ends_the_episode() -> None:
    played = context()
    over = []
    await played.step("x", reasoning="r", role="s")
    over.append(played.over)
    await played.step("y")
    over.append(played.over)
    assert over == [False, True]
    assert played.reward == 0.5
    assert [(acted.action, acted.reasoning, acted.role) for acted in played.actions] == [("x", "r", "s"), ("y", "", "")]


async def test_the_step_limit_ends_the_episode() -> None:
    played = context(max_steps=1)
    assert played.steps_left == 1
    await played.step("x")
    assert played.over


async def test_an_agent_that_goes_on_is_told_so() -> None:
    played = context(max_steps=1)
    await played.step("x")
    with pytest.raises(ScriptEnded, match="over"):
        await played.step("y")
    await played.ask(ModelRequest(()))
    with pytest.raises(ScriptEnded, match="1 replies"):
        await played.ask(ModelRequest(()))
    environment = ScriptedEnvironment("a", "b")
    await environment.step(1)
    with pytest.raises(ScriptEnded, match="answers 1 actions"):
        await environment.step(2)


async def test_replies_may_be_errors_or_a_function() -> None:
    error = EpisodeError(Cause.MODEL_TIMEOUT, "late")
    with pytest.raises(EpisodeError):
        await MemoryContext(ScriptedEnvironment("a"), [error]).ask(ModelRequest(()))
    echo = MemoryContext(ScriptedEnvironment("a"), lambda request: ModelReply(str(request.max_tokens)))
    assert (await echo.ask(ModelRequest((), max_tokens=7))).text == "7"


async def test_keeps_what_was_recorded_with_its_step() -> None:
    played = context(action_space={"type": "text"})
    played.record(Kind.LOG, "before")
    await played.step("x")
    played.record(Kind.LOG, "after")
    played.warn("careful")
    assert [(event.step, event.payload) for event in played.events] == [(1, "before"), (2, "after")]
    assert played.warnings == ["careful"]
    assert isinstance(played.action_space, SpaceSpec)


async def test_a_scripted_environment_has_no_oracle_and_remembers_that_it_was_closed() -> None:
    environment = ScriptedEnvironment()
    assert (await environment.reset()).data is None
    with pytest.raises(ScriptEnded):
        await environment.oracle()
    await environment.close()
    assert environment.closed
