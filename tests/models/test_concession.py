"""What a model does not take is left out, remembered, and said once."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.model import ModelRequest
from mesocosm.core.ports import Model
from mesocosm.testing.fault import Fault
from mesocosm.testing.model_server import ModelServer

Opened = Callable[..., Model]

NO_FORMAT = Fault(status=400, text="This model does not support response format `json_schema`")
NO_FORMAT_BY_LLAMA = Fault(
    status=500,
    text="1 validation error: {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), "
    "'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}",
)
NO_TEMPERATURE = Fault(
    status=400,
    text="Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) is supported.",
    param="temperature",
    code="unsupported_value",
)
NEW_LIMIT = Fault(
    status=400,
    text="Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    param="max_tokens",
    code="unsupported_parameter",
)


@pytest.mark.parametrize("refusal", [NO_FORMAT, NO_FORMAT_BY_LLAMA], ids=["400", "500 of llama.cpp"])
async def test_structured_output_that_is_refused_is_left_out_from_then_on(
    refusal: Fault,
    opened: Opened,
    hello: ModelRequest,
    left_or_right: dict[str, object],
    caplog: pytest.LogCaptureFixture,
) -> None:
    request = replace(hello, schema=left_or_right)
    async with ModelServer(faults=[refusal]) as server:
        model = opened(f"openai/m@{server.openai_url}")
        before = model.capabilities.structured
        await model.ask(request)
        await model.ask(request)
    assert ["response_format" in call.body for call in server.calls] == [True, False, False]
    assert (before, model.capabilities.structured) == (True, False)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "is asked without it" in caplog.text


async def test_a_temperature_that_is_refused_is_left_out(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer(faults=[NO_TEMPERATURE]) as server:
        model = opened(f"openai/o3@{server.openai_url}")
        await model.ask(hello)
        await model.ask(hello)
    assert ["temperature" in call.body for call in server.calls] == [True, False, False]


async def test_the_limit_of_tokens_gets_its_new_name(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer(faults=[NEW_LIMIT]) as server:
        model = opened(f"openai/o3@{server.openai_url}")
        await model.ask(hello)
        await model.ask(hello)
    first, *others = [call.body for call in server.calls]
    assert first["max_tokens"] == 512
    assert all("max_tokens" not in body and body["max_completion_tokens"] == 512 for body in others)


async def test_several_objections_are_met_one_after_the_other(
    opened: Opened, hello: ModelRequest, left_or_right: dict[str, object]
) -> None:
    async with ModelServer(faults=[NEW_LIMIT, NO_TEMPERATURE, NO_FORMAT]) as server:
        await opened(f"openai/o3@{server.openai_url}").ask(replace(hello, schema=left_or_right))
    assert sorted(server.calls[-1].body) == ["max_completion_tokens", "messages", "model"]


async def test_calls_that_were_under_way_meet_it_too_and_it_is_said_once(
    opened: Opened, hello: ModelRequest, caplog: pytest.LogCaptureFixture
) -> None:
    async with ModelServer(faults=[NO_TEMPERATURE] * 5) as server:
        model = opened(f"openai/o3@{server.openai_url}")
        replies = await asyncio.gather(*(model.ask(hello) for _ in range(5)))
    assert [reply.text for reply in replies] == ["ok"] * 5
    assert server.served == 10
    assert len(caplog.records) == 1


async def test_a_value_out_of_range_stays_an_error(opened: Opened, hello: ModelRequest) -> None:
    fault = Fault(status=400, text="Invalid 'temperature': must be at most 2", param="temperature")
    async with ModelServer(faults=[fault]) as server:
        with pytest.raises(EpisodeError) as raised:
            await opened(f"openai/m@{server.openai_url}").ask(replace(hello, temperature=3.0))
    assert raised.value.cause is Cause.MODEL_REJECTED
    assert server.served == 1


async def test_a_server_that_objects_to_what_was_not_sent_is_not_asked_again(
    opened: Opened, hello: ModelRequest
) -> None:
    async with ModelServer(faults=[NO_FORMAT]) as server:
        with pytest.raises(EpisodeError):
            await opened(f"openai/m@{server.openai_url}").ask(hello)
    assert server.served == 1


async def test_a_limit_from_the_extra_settings_is_renamed_too(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer(faults=[NEW_LIMIT]) as server:
        await opened(f"openai/m@{server.openai_url}", extra={"max_tokens": 5}).ask(hello)
    assert server.calls[-1].body["max_completion_tokens"] == 5
    assert "max_tokens" not in server.calls[-1].body


async def test_a_server_that_never_gives_in_ends_in_an_error(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer(faults=[NEW_LIMIT] * 10) as server:
        with pytest.raises(EpisodeError):
            await opened(f"openai/m@{server.openai_url}").ask(hello)
    assert server.served == 2
