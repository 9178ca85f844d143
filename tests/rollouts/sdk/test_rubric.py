import json
from typing import Any

import pytest

from mesocosm.rollouts.sdk import rubric
from mesocosm.rollouts.sdk.rubric import (
    MissingAPIKeyError,
    ModelNotFoundError,
    ProviderRequestError,
    RubricResult,
    evaluate_rubric,
    fenced,
)
from mesocosm.testing.fault import Fault, FaultKind
from mesocosm.testing.model_server import ModelServer

GOOD = json.dumps({"score": 0.75, "explanation": "nearly"})


async def judged(server: ModelServer, **over: Any) -> RubricResult:
    given = {"solution_str": "four", "rubric": "Is it four?", "model": "openai/gpt", "api_key": "key", **over}
    return await evaluate_rubric(base_url=server.openai_url, **given)


async def test_a_solution_is_judged() -> None:
    async with ModelServer(GOOD) as server:
        assert await judged(server) == RubricResult(0.75, "nearly")
    asked = server.calls[0].body
    assert (asked["model"], asked["temperature"], asked["response_format"]["type"]) == ("gpt", 0, "json_schema")
    assert server.calls[0].header("authorization") == "Bearer key"


async def test_all_the_material_is_shown_between_marks() -> None:
    async with ModelServer(GOOD) as server:
        await judged(
            server, ground_truth="4", original_input="2+2?", metadata={"level": 1}, system_prompt="You are strict."
        )
    system, user = server.calls[0].body["messages"]
    assert system["content"].startswith("You are strict.")
    for name, text in (
        ("SOLUTION", "four"),
        ("GROUND TRUTH", "4"),
        ("ORIGINAL INPUT", "2+2?"),
        ("METADATA", '{"level": 1}'),
    ):
        assert f"\n{text}\n<<<END {name} " in user["content"]


def test_marks_differ_each_time_and_cannot_be_guessed() -> None:
    first, second = fenced({"SOLUTION": "x"}), fenced({"SOLUTION": "x"})
    assert first != second
    assert len(first.splitlines()[0]) > 30


@pytest.mark.parametrize("said", [7, -3, True, "7/10", "high"])
async def test_a_score_off_the_range_is_asked_for_again_and_then_an_error(said: object) -> None:
    off = json.dumps({"score": said, "explanation": ""})
    replies = iter((off, GOOD))
    async with ModelServer(lambda _: next(replies)) as server:
        assert (await judged(server)).score == 0.75
    assert "from 0 to 1" in server.calls[1].body["messages"][-1]["content"]
    async with ModelServer(off) as server:
        with pytest.raises(ProviderRequestError, match="score"):
            await judged(server)


async def test_a_score_may_be_a_text() -> None:
    async with ModelServer(json.dumps({"score": "0.5", "explanation": ""})) as server:
        assert (await judged(server)).score == 0.5


async def test_the_range_is_the_callers() -> None:
    async with ModelServer(json.dumps({"score": 9, "explanation": ""})) as server:
        assert (await judged(server, score_min=1, score_max=10)).score == 9
    assert "from 1 to 10" in server.calls[0].body["messages"][0]["content"]


async def test_a_judgement_within_other_words_is_found() -> None:
    async with ModelServer(f"Here you are:\n```json\n{GOOD}\n```") as server:
        assert (await judged(server)).score == 0.75


async def test_a_provider_without_schemas_is_asked_for_plain_json() -> None:
    async with ModelServer(GOOD, faults=[Fault(status=400, text="json_schema?")]) as server:
        assert (await judged(server)).score == 0.75
    assert [call.body["response_format"]["type"] for call in server.calls] == ["json_schema", "json_object"]


@pytest.mark.parametrize(
    "said", ["I cannot judge", '{"explanation": "no score"}', '{"score": "high"}', '{"score": NaN}']
)
async def test_a_judge_that_gives_no_score_is_an_error(said: str) -> None:
    async with ModelServer(said) as server:
        with pytest.raises(ProviderRequestError, match=r"score|JSON") as caught:
            await judged(server)
    assert (caught.value.provider, caught.value.model) == ("openai", "openai/gpt")


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (Fault(status=404, text="no such model"), ModelNotFoundError, "no such model"),
        (Fault(status=500, text="broken"), ProviderRequestError, "broken"),
        (Fault(kind=FaultKind.GARBAGE), ProviderRequestError, "not JSON"),
        (Fault(kind=FaultKind.EMPTY_TEXT), ProviderRequestError, "said nothing"),
        (Fault(kind=FaultKind.CLOSE), ProviderRequestError, "no usable reply"),
    ],
)
async def test_a_provider_that_fails_is_an_error(fault: Fault, kind: type[ProviderRequestError], words: str) -> None:
    async with ModelServer(GOOD, faults=[fault]) as server:
        with pytest.raises(kind, match=words):
            await judged(server)


async def test_a_format_refused_in_every_form_is_an_error() -> None:
    async with ModelServer(faults=[Fault(status=400, text="bad"), Fault(status=400, text="bad")]) as server:
        with pytest.raises(ProviderRequestError, match="bad"):
            await judged(server)


async def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MissingAPIKeyError, match="OPENAI_API_KEY"):
        await evaluate_rubric(solution_str="x", rubric="y", model="openai/gpt")


@pytest.mark.parametrize(
    "over",
    [
        {"solution_str": " "},
        {"rubric": ""},
        {"model": ""},
        {"score_min": 1, "score_max": 1},
        {"score_max": float("nan")},
    ],
)
async def test_arguments_that_make_no_sense_are_refused(over: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        await evaluate_rubric(**{"solution_str": "x", "rubric": "y", "model": "openai/gpt", **over})


class Exceptions:
    """LiteLLM's kinds of errors."""

    BadRequestError = type("BadRequestError", (Exception,), {})
    UnsupportedParamsError = type("UnsupportedParamsError", (Exception,), {})
    NotFoundError = type("NotFoundError", (Exception,), {})


class Said:
    """What LiteLLM returns."""

    def model_dump(self, **_: object) -> dict[str, Any]:
        return {"choices": [{"message": {"content": GOOD}}]}


class Litellm:
    """Stands where the package is too slow to load in a test."""

    exceptions = Exceptions

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.asked: list[dict[str, Any]] = []

    async def acompletion(self, **asked: Any) -> Said:
        self.asked.append(asked)
        if self.errors:
            raise self.errors.pop(0)
        return Said()


async def by_litellm(monkeypatch: pytest.MonkeyPatch, fake: Litellm) -> RubricResult:
    monkeypatch.setattr(rubric, "installed_litellm", lambda: fake)
    return await evaluate_rubric(solution_str="x", rubric="y", model="xai/grok-4", api_key="key")


async def test_litellm_is_asked_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Litellm(Exceptions.BadRequestError("schema"))
    assert (await by_litellm(monkeypatch, fake)).score == 0.75
    assert (fake.asked[0]["model"], fake.asked[0]["api_key"], fake.asked[0]["timeout"]) == ("xai/grok-4", "key", 60.0)
    assert fake.asked[1]["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    ("error", "kind"), [(Exceptions.NotFoundError("gone"), ModelNotFoundError), (OSError("net"), ProviderRequestError)]
)
async def test_what_litellm_raises_is_told(
    monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[ProviderRequestError]
) -> None:
    with pytest.raises(kind, match=str(error)):
        await by_litellm(monkeypatch, Litellm(error))
