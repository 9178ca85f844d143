from typing import Any

import pytest

from mesocosm.agents.loop import open_loop
from mesocosm.agents.multi_agent import MultiAgent, MultiAgentParams
from mesocosm.core.event import Kind
from mesocosm.core.model import ModelReply
from mesocosm.core.ports import Observation, Step
from mesocosm.core.usage import Usage
from mesocosm.testing.context import MemoryContext, ScriptedEnvironment

ROLES = {"roles": {"buyer": {"description": "You buy.", "system_prompt": "Be hard."}, "seller": "You sell."}}


async def played(*shown: Any, config: Any = None, **options: Any) -> MemoryContext:
    vow = {"techniques": [{"technique_id": "multi_agent", "config_schema": ROLES if config is None else config}]}
    count = len(shown) - 1
    replies = [ModelReply(f"reply {n}", usage=Usage(10, n, calls=1)) for n in range(1, count + 1)]
    context = MemoryContext(ScriptedEnvironment(*shown), replies, vow=vow)
    await open_loop(options).play(context)
    return context


def acting(context: MemoryContext) -> list[str]:
    return [acted.role for acted in context.actions]


def step(data: Any, **info: Any) -> Step:
    return Step(Observation(data), info=info)


async def test_roles_take_turns_in_the_order_of_the_file() -> None:
    roles = {"zoe": "first", "adam": "second"}
    assert acting(await played("a", "b", "c", "d", config={"roles": roles})) == ["zoe", "adam", "zoe"]


async def test_a_reset_names_the_role_that_begins() -> None:
    assert acting(await played(Observation("a", info={"active_role": "seller"}), "b", "end")) == ["seller", "seller"]


async def test_a_turn_order_is_kept() -> None:
    context = await played("a", "b", "c", "d", config={**ROLES, "turn_order": ["seller", "seller", "buyer"]})
    assert acting(context) == ["seller", "seller", "buyer"]


async def test_a_list_of_roles_is_an_order() -> None:
    assert acting(await played("a", "b", "c", config={"roles": ["zoe", {"name": "adam"}]})) == ["zoe", "adam"]


async def test_the_environment_says_who_acts() -> None:
    context = await played(
        {"active_role": "seller"},
        step({"active_role": "buyer"}, active_role="seller"),
        step({"active_role": "buyer"}),
        "end",
    )
    assert acting(context) == ["seller", "seller", "buyer"]


async def test_an_unknown_role_becomes_the_first_with_a_warning() -> None:
    context = await played({"active_role": "judge"}, {"active_role": "judge"}, "end")
    assert acting(context) == ["buyer", "buyer"]
    assert len(context.warnings) == 1
    assert "'judge'" in context.warnings[0]


async def test_without_declared_roles_every_name_is_taken() -> None:
    assert acting(await played({"active_role": "x"}, "b", "end", config={})) == ["x", ""]


async def test_each_role_has_its_own_conversation() -> None:
    context = await played("a", "b", "c", "d")
    assert [message.text for message in context.requests[2].messages[1:]] == [
        "[Step 1]\na",
        "reply 1",
        "[Step 3]\nc",
    ]
    assert [message.text for message in context.requests[1].messages[1:]] == ["[Step 2]\nb"]


async def test_each_role_is_told_who_it_is() -> None:
    context = await played("a", "b", "c")
    buyer, seller = (request.messages[0].text for request in context.requests)
    assert "You buy.\nBe hard." in buyer
    assert "## Active Role\nYou act as buyer. The other is seller." in buyer
    assert "You sell." in seller
    assert "You buy" not in seller


async def test_the_operator_has_the_last_word_on_a_role() -> None:
    context = await played("a", "b", "c", roles={"buyer": {"system_prompt": "Pay less."}}, system_prompt="All: brief.")
    buyer, seller = (request.messages[0].text for request in context.requests)
    assert "Pay less." in buyer
    assert "You buy" not in buyer
    assert "You sell." in seller
    assert buyer.index("All: brief.") < buyer.index("Pay less.")


async def test_roles_of_the_operator_alone_make_an_episode_of_several() -> None:
    context = MemoryContext(ScriptedEnvironment("a", "b", "c"), ["x", "y"])
    await open_loop({"roles": {"one": {}, "two": {}}}).play(context)
    assert acting(context) == ["one", "two"]


async def test_a_prompt_of_a_step_reaches_only_the_role_that_acted() -> None:
    prompted = Step(Observation("b"), system_prompt="only for the buyer")
    context = await played(Observation("a", system_prompt="for all"), prompted, step("c"), "d")
    starts = [request.messages[0].text.split("\n")[0] for request in context.requests]
    assert starts == ["for all", "for all", "only for the buyer"]


async def test_tokens_of_each_role_are_recorded_at_the_end() -> None:
    context = await played("a", "b", "c", "d")
    (event,) = [event for event in context.events if event.kind is Kind.TECHNIQUE]
    assert event.payload == {"kind": "tokens_per_role", "tokens_per_role": {"buyer": 11 + 13, "seller": 12}}


async def test_one_role_among_many_knows_the_others() -> None:
    technique = MultiAgent(MultiAgentParams.model_validate({"roles": ["a", "b", "c"]}))
    assert technique.sections(Observation(), 1, "a")["Active Role"] == "You act as a. The others are b, c."
    assert technique.sections(Observation(), 1, "") == {}


@pytest.mark.parametrize("roles", [5, "buyer"])
async def test_roles_of_a_wrong_type_cost_a_warning(roles: Any) -> None:
    context = await played("a", "b", config={"roles": roles})
    assert any("roles" in warning for warning in context.warnings)
