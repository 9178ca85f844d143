"""Every way in which an OpenAI-compatible server fails has its cause, its words and its remedy."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from mesocosm.core.abilities import Warns
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.model import ModelRequest
from mesocosm.core.ports import Model
from mesocosm.testing.fault import CLOSE, CUT, EMPTY_BODY, EMPTY_TEXT, GARBAGE, HANG, Fault
from mesocosm.testing.model_server import ModelServer

Opened = Callable[..., Model]


async def failure(opened: Opened, request: ModelRequest, fault: Fault) -> EpisodeError:
    async with ModelServer(faults=[fault]) as server:
        with pytest.raises(EpisodeError) as raised:
            await opened(f"openai/m@{server.openai_url}").ask(request)
        assert server.served == 1, "one ask is one try"
    return raised.value


DEEP = b'{"choices": [{"message": {"content": "yes"}}], "ignored": %b}' % (b"[" * 100_000 + b"]" * 100_000)
DEEP_CALL = b'{"choices": [{"message": {"tool_calls": [{"function": {"name": "f", "arguments": %b}}]}}]}' % (
    b"[" * 900 + b"]" * 900
)
CONTEXT = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (Fault(status=429), Cause.RATE_LIMITED),
        (Fault(status=200, raw=DEEP), Cause.MODEL_INVALID),
        (Fault(status=200, raw=DEEP_CALL), Cause.MODEL_INVALID),
        (Fault(status=500, raw=DEEP), Cause.MODEL_UNAVAILABLE),
        (Fault(status=429, code="insufficient_quota"), Cause.MODEL_FORBIDDEN),
        (Fault(status=429, text="You exceeded your current quota, please check your plan"), Cause.RATE_LIMITED),
        (
            Fault(status=429, text="Limit: 3 / min. Add a payment method at https://x.example/billing"),
            Cause.RATE_LIMITED,
        ),
        (Fault(status=400, text="Your credit balance is too low to access the API"), Cause.MODEL_FORBIDDEN),
        (Fault(status=402), Cause.MODEL_FORBIDDEN),
        (Fault(status=401), Cause.MODEL_FORBIDDEN),
        (Fault(status=403), Cause.MODEL_FORBIDDEN),
        (Fault(status=404), Cause.MODEL_MISSING),
        (Fault(status=307, header=("Location", "https://u:p@elsewhere.example/v1")), Cause.MODEL_MISSING),
        (Fault(status=405), Cause.MODEL_MISSING),
        (Fault(status=400, text="The model `m` does not exist", code="model_not_found"), Cause.MODEL_MISSING),
        (Fault(status=400, text="The model 'm' does not exist"), Cause.MODEL_MISSING),
        (Fault(status=400, text="x/y is not a valid model ID"), Cause.MODEL_MISSING),
        (
            Fault(status=400, text="the output of the model names a tool that was not found"),
            Cause.MODEL_REJECTED,
        ),
        (Fault(status=408), Cause.MODEL_UNAVAILABLE),
        (Fault(status=409), Cause.MODEL_UNAVAILABLE),
        (Fault(status=500), Cause.MODEL_UNAVAILABLE),
        (Fault(status=503), Cause.MODEL_UNAVAILABLE),
        (Fault(status=529), Cause.MODEL_UNAVAILABLE),
        (Fault(status=400, text=CONTEXT, code="context_length_exceeded"), Cause.CONTEXT_OVERFLOW),
        (Fault(status=400, text="the input length exceeds the context length"), Cause.CONTEXT_OVERFLOW),
        (
            Fault(status=400, text="prompt too long; exceeded max context length by 4 tokens"),
            Cause.CONTEXT_OVERFLOW,
        ),
        (
            Fault(status=400, text="request (9000 tokens) exceeds the context size (4096)"),
            Cause.CONTEXT_OVERFLOW,
        ),
        (Fault(status=400, code="content_filter", text="flagged"), Cause.REFUSED),
        (Fault(status=400, code="json_validate_failed", text="Failed to generate JSON"), Cause.MODEL_INVALID),
        (Fault(status=500, text="The model produced output that does not match the format"), Cause.MODEL_INVALID),
        (Fault(status=400), Cause.MODEL_REJECTED),
        (Fault(status=418), Cause.MODEL_REJECTED),
        (Fault(status=422), Cause.MODEL_REJECTED),
        (HANG, Cause.MODEL_TIMEOUT),
        (CLOSE, Cause.MODEL_UNAVAILABLE),
        (CUT, Cause.MODEL_UNAVAILABLE),
        (GARBAGE, Cause.MODEL_INVALID),
        (EMPTY_BODY, Cause.MODEL_INVALID),
        (Fault(status=200, raw=b"{}"), Cause.MODEL_INVALID),
        (Fault(status=200, raw=b'{"choices": []}'), Cause.MODEL_INVALID),
        (Fault(status=200, raw=b'{"choices": [{}]}'), Cause.MODEL_INVALID),
        (Fault(status=200, raw=b'{"choices": "many"}'), Cause.MODEL_INVALID),
        (Fault(status=200, raw=b"[1]"), Cause.MODEL_INVALID),
        (Fault(status=200, raw=b'"\xff\xfe"'), Cause.MODEL_INVALID),
        (Fault(status=200, raw=b'{"error": {"code": 429, "message": "upstream"}}'), Cause.RATE_LIMITED),
        (Fault(status=200, raw=b'{"error": "upstream broke"}'), Cause.MODEL_UNAVAILABLE),
        (
            Fault(status=200, raw=b'{"choices": [{"error": {"code": 502, "message": "x"}}]}'),
            Cause.MODEL_UNAVAILABLE,
        ),
        (
            Fault(status=200, raw=b'{"choices": [{"message": {"content": "h"}, "finish_reason": "error"}]}'),
            Cause.MODEL_INVALID,
        ),
        (
            Fault(
                status=200, raw=b'{"choices": [{"message": {"content": ""}, "error": {"code": 502, "message": "x"}}]}'
            ),
            Cause.MODEL_UNAVAILABLE,
        ),
    ],
    ids=str,
)
async def test_each_fault_has_its_cause(opened: Opened, hello: ModelRequest, fault: Fault, cause: Cause) -> None:
    request = replace(hello, timeout_s=0.05) if fault is HANG else hello
    assert (await failure(opened, request, fault)).cause is cause


async def test_a_limit_of_tokens_that_no_prompt_could_meet_is_the_users_mistake(
    opened: Opened, hello: ModelRequest
) -> None:
    error = await failure(opened, replace(hello, max_tokens=4096), Fault(status=400, text=CONTEXT))
    assert error.cause is Cause.MODEL_REJECTED
    assert "max_tokens" in str(error)
    words = "'max_tokens' or 'max_completion_tokens' is too large: 9999. This model's maximum context length is 4096"
    error = await failure(opened, replace(hello, max_tokens=9999), Fault(status=400, text=words))
    assert error.cause is Cause.MODEL_REJECTED


async def test_the_message_says_what_where_in_whose_words_and_what_to_do(opened: Opened, hello: ModelRequest) -> None:
    error = await failure(opened, hello, Fault(status=500, text="the GPU is on fire"))
    message = str(error)
    assert message.startswith("openai/m: http://127.0.0.1:")
    assert '/chat/completions answered 500: "the GPU is on fire"; ' in message
    assert "try again later" in message
    assert error.detail == "the GPU is on fire"


async def test_long_words_of_the_server_are_cut_in_the_message(opened: Opened, hello: ModelRequest) -> None:
    error = await failure(opened, hello, Fault(status=500, text="x" * 100_000))
    assert len(str(error)) < 800
    assert len(error.detail) == 5000


async def test_an_html_page_is_shown_without_its_tags(opened: Opened, hello: ModelRequest) -> None:
    page = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
    error = await failure(opened, hello, Fault(status=502, raw=page))
    assert '"502 Bad Gateway 502 Bad Gateway"' in str(error)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b'{"object": "error", "message": "old vllm", "code": 400}', "old vllm"),
        (b'{"detail": "fastapi"}', "fastapi"),
        (b'{"detail": [{"loc": ["body", "x"], "msg": "bad x"}]}', "bad x"),
        (b'[{"error": {"message": "google"}}]', "google"),
        (b'{"error": {"message": "outer", "metadata": {"raw": "inner"}}}', "outer: inner"),
        (b"plain words", "plain words"),
        (b'"text"', "text"),
        (b"\xff\xfe", "\ufffd"),
    ],
)
async def test_errors_of_every_shape_are_shown(opened: Opened, hello: ModelRequest, raw: bytes, shown: str) -> None:
    assert shown in str(await failure(opened, hello, Fault(status=400, raw=raw)))


async def test_the_key_is_never_shown(opened: Opened, hello: ModelRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-secret")
    error = await failure(opened, hello, Fault(status=401, text="Incorrect API key provided: sk-planted-secret."))
    assert "sk-planted-secret" not in str(error) + error.detail
    assert "[key]" in str(error)
    assert "OPENAI_API_KEY" in str(error)


async def test_credentials_in_the_address_are_never_shown(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer(faults=[Fault(status=500), HANG]) as server:
        model = opened(f"openai/m@http://user:planted@{server.host}:{server.port}/v1")
        for seconds in (10.0, 0.05):
            with pytest.raises(EpisodeError) as raised:
                await model.ask(replace(hello, timeout_s=seconds))
            assert "planted" not in str(raised.value)


@pytest.mark.parametrize(
    ("fault", "wait"),
    [
        (Fault(status=429, retry_after="7"), 7.0),
        (Fault(status=503, retry_after="1.5"), 1.5),
        (Fault(status=429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"), 0.0),
        (Fault(status=429, header=("Retry-After-Ms", "250"), retry_after="9"), 0.25),
        (Fault(status=429, header=("Retry-After-Ms", "soon"), retry_after="9"), 9.0),
        (Fault(status=429, retry_after="-3"), 0.0),
        (Fault(status=429, retry_after="soon"), None),
        (Fault(status=429, retry_after="inf"), None),
        (Fault(status=429, retry_after="nan"), None),
        (Fault(status=429), None),
    ],
    ids=str,
)
async def test_the_wait_that_the_server_asks_for_is_read(
    opened: Opened, hello: ModelRequest, fault: Fault, wait: float | None
) -> None:
    assert (await failure(opened, hello, fault)).retry_after == wait


@pytest.mark.parametrize(("status", "busy"), [(429, True), (503, True), (529, True), (500, False), (400, False)])
async def test_a_busy_server_is_told_from_a_broken_one(
    opened: Opened, hello: ModelRequest, status: int, busy: bool
) -> None:
    assert (await failure(opened, hello, Fault(status=status))).overload is busy


async def test_a_redirect_names_the_other_place_without_its_password(opened: Opened, hello: ModelRequest) -> None:
    fault = Fault(status=307, header=("Location", "https://u:planted@elsewhere.example/v1/chat?x=1"))
    message = str(await failure(opened, hello, fault))
    assert "redirects to https://elsewhere.example/v1/chat;" in message


async def test_an_empty_answer_is_an_answer(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer(faults=[EMPTY_TEXT]) as server:
        assert (await opened(f"openai/m@{server.openai_url}").ask(hello)).text == ""


async def test_nothing_at_the_address_is_unavailable(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer() as server:
        url = server.openai_url
    with pytest.raises(EpisodeError, match="nothing answers at") as raised:
        await opened(f"openai/m@{url}").ask(hello)
    assert raised.value.cause is Cause.MODEL_UNAVAILABLE


async def test_a_proxy_that_is_away_is_not_taken_for_the_server(
    opened: Opened, hello: ModelRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer() as server:
        gone = server.openai_url.removesuffix("/v1")
    monkeypatch.setenv("HTTPS_PROXY", gone)
    with pytest.raises(
        EpisodeError, match=r"no connection to https://model\.test/v1.*the proxy.*check HTTP_PROXY"
    ) as raised:
        await opened("openai/m@https://model.test/v1").ask(hello)
    assert raised.value.cause is Cause.MODEL_UNAVAILABLE


@pytest.mark.parametrize(("asked", "warned"), [("tiny", False), ("other", True)])
async def test_a_model_that_the_server_answers_for_but_does_not_list_is_warned_of(
    opened: Opened, hello: ModelRequest, asked: str, warned: bool
) -> None:
    async with ModelServer(models=["tiny"]) as server:
        model = opened(f"openai/{asked}@{server.openai_url}")
        await model.check()
        server.models = None
        await model.ask(hello)
    assert isinstance(model, Warns)
    told = f"the server at {server.openai_url} does not list the model 'other'; it has tiny"
    assert list(model.warnings()) == [told] * warned


async def test_a_missing_model_is_answered_with_what_is_there(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer(models=["my-model", "other"]) as server:
        model = opened(f"openai/my-modle@{server.openai_url}")
        await model.check()
        with pytest.raises(EpisodeError, match="it has my-model and others") as raised:
            await model.ask(hello)
    assert raised.value.cause is Cause.MODEL_MISSING


async def test_a_wrong_path_is_answered_with_the_usual_end_of_base_urls(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer(faults=[Fault(status=404)]) as server:
        with pytest.raises(EpisodeError, match="usually ends in /v1"):
            await opened(f"openai/m@{server.url}").ask(hello)


async def test_the_check_fails_when_nobody_listens(opened: Opened) -> None:
    async with ModelServer() as server:
        url = server.openai_url
    with pytest.raises(EpisodeError) as raised:
        await opened(f"openai/m@{url}").check()
    assert raised.value.cause is Cause.MODEL_UNAVAILABLE


async def test_the_check_names_the_variable_of_a_missing_key(opened: Opened) -> None:
    with pytest.raises(UsageError, match="export GROQ_API_KEY="):
        await opened("groq/llama-3").check()
