"""Models without an endpoint: random, empty, oracle."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from mesocosm.core.failure import Cause, EpisodeError, UnknownName, UsageError
from mesocosm.core.message import Message
from mesocosm.core.model import EpisodeView, ModelRequest, Tool
from mesocosm.core.ports import Model
from mesocosm.core.space import parse_space

Opened = Callable[..., Model]


def space(raw: dict[str, Any]) -> Any:
    found = parse_space(raw, "space", [])
    assert found is not None
    return found


MOVES = {"type": "discrete", "enum_values": ["left", "right", "up", "down"]}


def asked(seed: int | None = 1, step: int = 0, trial: int = 0, raw: dict[str, Any] | None = None) -> ModelRequest:
    view = EpisodeView(seed, "task", trial, step, space=space(raw) if raw is not None else None)
    return ModelRequest([Message("user", "go")], view=view)


async def test_random_draws_from_the_space_and_the_same_again(opened: Opened) -> None:
    requests = [asked(seed, step, trial, MOVES) for seed in range(3) for step in range(5) for trial in range(3)]
    first = [(await opened("builtin/random").ask(request)).text for request in requests]
    again = [(await opened("builtin/random").ask(request)).text for request in reversed(requests)]
    assert first == again[::-1]
    assert set(first) == {"left", "right", "up", "down"}


async def test_seed_trial_and_step_each_change_the_draw(opened: Opened) -> None:
    number = {"type": "continuous", "bounds": {"low": 0, "high": 1}}
    model = opened("builtin/random")
    base = (await model.ask(asked(1, 0, 0, number))).text
    others = [(await model.ask(asked(*where, number))).text for where in ((2, 0, 0), (1, 1, 0), (1, 0, 1))]
    assert len({base, *others}) == 4
    assert all(0 <= float(text) <= 1 for text in (base, *others))


async def test_random_answers_in_json_where_the_schema_wants_it(
    opened: Opened, left_or_right: dict[str, object]
) -> None:
    model = opened("builtin/random")
    assert model.capabilities.structured
    request = asked(raw=MOVES)
    text = (await model.ask(request)).text
    assert msgspec.json.decode((await model.ask(replace(request, schema=left_or_right))).text) == {"action": text}


async def test_random_speaks_composite_actions_as_json(opened: Opened) -> None:
    raw = {"fields": {"move": MOVES, "say": {"type": "text"}}}
    action = msgspec.json.decode((await opened("builtin/random").ask(asked(raw=raw))).text)
    assert action["move"] in MOVES["enum_values"]
    assert isinstance(action["say"], str)


async def test_text_of_a_json_space_keeps_its_quotes(opened: Opened) -> None:
    raw = {"type": "json", "schema_ref": '{"type": "string", "enum": ["5"]}'}
    assert (await opened("builtin/random").ask(asked(raw=raw))).text == '"5"'


async def test_random_without_a_space_says_something(opened: Opened) -> None:
    model = opened("builtin/random")
    one, two = (await model.ask(asked(1))).text, (await model.ask(asked(2))).text
    assert one
    assert one != two


def tools() -> list[Tool]:
    number = {"type": "object", "properties": {"far": {"type": "integer"}}, "required": ["far"]}
    return [Tool("look", parameters=number), Tool("wait")]


async def test_random_calls_each_tool_and_none_the_same_again(opened: Opened) -> None:
    requests = [replace(asked(seed), tools=tools()) for seed in range(30)]
    replies = [await opened("builtin/random").ask(request) for request in requests]
    again = [await opened("builtin/random").ask(request) for request in requests]
    assert [reply.tool_calls for reply in replies] == [reply.tool_calls for reply in again]
    assert {call.name for reply in replies for call in reply.tool_calls} == {"look", "wait"}
    assert any(reply.text and not reply.tool_calls for reply in replies)


async def test_random_calls_follow_the_parameters_of_the_tool(opened: Opened) -> None:
    requests = [replace(asked(seed), tools=tools()) for seed in range(30)]
    replies = [await opened("builtin/random").ask(request) for request in requests]
    calls = [call for reply in replies for call in reply.tool_calls]
    assert all(isinstance(call.arguments["far"], int) for call in calls if call.name == "look")
    assert all(isinstance(call.arguments, dict) for call in calls)


async def test_an_action_space_goes_before_tools(opened: Opened) -> None:
    plain = asked(raw=MOVES)
    model = opened("builtin/random")
    assert (await model.ask(replace(plain, tools=tools()))).text == (await model.ask(plain)).text


async def test_random_follows_a_schema_of_its_own(opened: Opened) -> None:
    schema = {"type": "object", "properties": {"vote": {"enum": [1, 2]}}, "required": ["vote"]}
    text = (await opened("builtin/random").ask(replace(asked(), schema=schema))).text
    assert msgspec.json.decode(text)["vote"] in {1, 2}


async def test_tasks_without_a_seed_are_drawn_by_name(opened: Opened) -> None:
    model = opened("builtin/random")
    views = [EpisodeView(None, task, 0, 0) for task in ("a", "b", "a")]
    texts = [(await model.ask(ModelRequest([Message("user", "go")], view=view))).text for view in views]
    assert texts[0] == texts[2] != texts[1]


async def test_outside_an_episode_random_depends_on_the_messages(opened: Opened) -> None:
    model = opened("builtin/random")
    texts = [(await model.ask(ModelRequest([Message("user", text)]))).text for text in ("a", "b", "a")]
    assert texts[0] == texts[2] != texts[1]


async def test_empty_says_nothing_for_nothing(opened: Opened) -> None:
    reply = await opened("builtin/empty").ask(asked(raw=MOVES))
    assert reply.text == ""
    assert (reply.usage.total, reply.usage.cost_usd, reply.usage.calls) == (0, 0.0, 1)
    assert reply.model == "builtin/empty"


@pytest.mark.parametrize(("best", "text"), [("left", "left"), ({"x": 1}, '{"x":1}'), (3, "3")])
async def test_the_oracle_says_what_the_environment_knows(opened: Opened, best: Any, text: str) -> None:
    async def oracle() -> Any:
        return best

    request = ModelRequest([], view=EpisodeView(1, "task", 0, 0, oracle=oracle))
    assert (await opened("builtin/oracle").ask(request)).text == text


async def test_without_an_oracle_the_remedy_is_named(opened: Opened) -> None:
    with pytest.raises(EpisodeError, match="defines `oracle`") as raised:
        await opened("builtin/oracle").ask(asked(raw=MOVES))
    assert raised.value.cause is Cause.MODEL_MISSING


async def test_an_environment_that_refuses_the_oracle_is_heard(opened: Opened) -> None:
    async def oracle() -> Any:
        raise EpisodeError(Cause.ENVIRONMENT_ERROR, "no oracle here")

    with pytest.raises(EpisodeError, match="no oracle here"):
        await opened("builtin/oracle").ask(ModelRequest([], view=EpisodeView(1, "task", 0, 0, oracle=oracle)))


@pytest.mark.parametrize("name", ["random", "empty", "oracle"])
async def test_they_are_local_and_need_no_check(opened: Opened, name: str) -> None:
    model = opened(f"builtin/{name}")
    await model.check()
    assert model.capabilities.local


def test_an_unknown_name_gets_a_suggestion(opened: Opened) -> None:
    with pytest.raises(UnknownName, match="did you mean 'random'"):
        opened("builtin/randon")
    with pytest.raises(UnknownName):
        opened("builtin/random:file")


def test_a_base_url_is_refused(opened: Opened) -> None:
    with pytest.raises(UsageError, match="takes no base URL"):
        opened("builtin/random@http://127.0.0.1:1")
