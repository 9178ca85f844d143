"""Reading rules of the adapter protocol, one by one and under random JSON."""

import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.ports import Observation, Step
from mesocosm.environments import answers

FULL: dict[str, Any] = {
    "observation": {"data": 1, "content_type": "application/json"},
    "reward": 0.5,
    "terminated": False,
    "truncated": False,
    "info": {"a": 1},
    "system_prompt": None,
}


def step(**changes: Any) -> Step:
    return answers.read_step({**FULL, **changes})


def without(*keys: str) -> dict[str, Any]:
    return {key: value for key, value in FULL.items() if key not in keys}


def refusal(body: Any) -> str:
    with pytest.raises(EpisodeError) as caught:
        answers.read_step(body)
    assert caught.value.cause is Cause.ENVIRONMENT_INVALID
    return str(caught.value)


@pytest.mark.parametrize("value", [None, 3, "text", [1, 2], {"board": 1}, {}])
def test_a_bare_observation_is_taken_whole_and_without_a_note(value: Any) -> None:
    assert answers.read_observation(value) == Observation(value)


def test_a_wrapper_gives_data_content_type_and_prompt() -> None:
    value = {"data": "iVBOR", "content_type": "image/png", "system_prompt": "look"}
    assert answers.read_observation(value) == Observation("iVBOR", "image/png", "look")


def test_a_wrapper_without_content_type_is_json() -> None:
    assert answers.read_observation({"data": 1}).content_type == "application/json"
    assert answers.read_observation({"data": 1, "content_type": None}) == Observation(1)


def test_a_wrapper_without_data_shows_null_and_says_so() -> None:
    observation = answers.read_observation({"content_type": "text/plain"})
    assert observation.data is None
    assert "without `data`" in observation.notes[0]


def test_keys_beside_data_are_dropped_and_named() -> None:
    observation = answers.read_observation({"data": [1], "position": 3})
    assert observation.data == [1]
    assert "`position`" in observation.notes[0]


@pytest.mark.parametrize("value", [{"data": 1, "content_type": 5}, {"data": 1, "system_prompt": ["x"]}])
def test_a_wrapper_with_wrong_types_is_refused(value: Any) -> None:
    with pytest.raises(EpisodeError, match=r"content_type|system_prompt"):
        answers.read_observation(value)


def test_reset_unwraps_observation_when_it_is_the_only_key() -> None:
    observation = answers.read_reset({"observation": {"data": 2, "content_type": "text/plain"}})
    assert (observation.data, observation.content_type) == (2, "text/plain")
    assert "`observation`" in observation.notes[0]


def test_reset_keeps_observation_among_other_keys() -> None:
    value = {"observation": 1, "info": {}}
    assert answers.read_reset(value) == Observation(value)


def test_a_step_as_the_contract_wants_it_has_no_notes() -> None:
    assert answers.read_step(FULL) == Step(Observation(1), 0.5, info={"a": 1})


@pytest.mark.parametrize(
    ("reward", "expected"), [(1, 1.0), ("0.25", 0.25), (" -3 ", -3.0), (True, 1.0), (False, 0.0), ("1e2", 100.0)]
)
def test_rewards_are_whatever_is_a_number(reward: Any, expected: float) -> None:
    assert step(reward=reward).reward == expected


def test_a_reward_as_text_is_noted_without_its_value() -> None:
    assert step(reward="0.25").notes == step(reward="7").notes != ()


@pytest.mark.parametrize("reward", ["nan", "inf", "-Infinity", "much", "", None, [1], {}, 10**400])
def test_a_reward_that_is_no_finite_number_is_refused_by_name(reward: Any) -> None:
    assert "`reward`" in refusal({**FULL, "reward": reward})


@pytest.mark.parametrize("value", [True, "true", "TRUE", "Yes", "1", 1])
def test_spellings_of_true(value: Any) -> None:
    assert step(terminated=value).terminated is True
    assert step(truncated=value).truncated is True


@pytest.mark.parametrize("value", [False, "false", "No", "0", "", 0])
def test_spellings_of_false(value: Any) -> None:
    assert step(terminated=value).terminated is False


@pytest.mark.parametrize("value", [None, 2, -1, 1.0, "maybe", [], {}])
def test_other_flags_are_refused_by_name(value: Any) -> None:
    assert "`terminated`" in refusal({**FULL, "terminated": value})
    assert "`truncated`" in refusal({**FULL, "truncated": value})


def test_done_stands_for_a_missing_terminated_and_is_noted() -> None:
    result = answers.read_step({**without("terminated"), "done": "true"})
    assert result.terminated is True
    assert any("`done`" in note for note in result.notes)


def test_done_beside_terminated_means_nothing() -> None:
    result = step(terminated=False, done=True)
    assert result.terminated is False
    assert "`done`" in result.notes[0]


def test_missing_fields_have_defaults_and_notes() -> None:
    result = answers.read_step({})
    assert (result.observation.data, result.reward, result.terminated, result.truncated) == ({}, 0.0, False, False)
    assert [
        key for key in ("observation", "reward", "terminated") if any(f"`{key}`" in note for note in result.notes)
    ] == [
        "observation",
        "reward",
        "terminated",
    ]


def test_optional_fields_may_be_missing_silently() -> None:
    assert answers.read_step(without("truncated", "info", "system_prompt")).notes == ()


def test_null_info_is_empty_and_noted() -> None:
    result = step(info=None)
    assert result.info == {}
    assert "`info`" in result.notes[0]


@pytest.mark.parametrize("info", [[], "x", 1, True])
def test_info_that_is_no_object_is_refused(info: Any) -> None:
    assert "`info`" in refusal({**FULL, "info": info})


def test_extra_keys_are_named_and_ignored() -> None:
    assert "`obs`, `state`" in step(state=1, obs=2).notes[0]


def test_many_extra_keys_are_counted_not_listed() -> None:
    note = step(**{f"key{i:03}": 0 for i in range(400)}).notes[0]
    assert "395 more" in note
    assert len(note) < 200


@pytest.mark.parametrize("body", [None, [1, 0.0, False, False, {}], "ok", 5])
def test_a_step_must_be_an_object(body: Any) -> None:
    assert "must be an object" in refusal(body)


def test_a_prompt_inside_the_observation_counts_unless_the_step_has_its_own() -> None:
    inner = {"data": 1, "system_prompt": "inner"}
    assert step(observation=inner).system_prompt == "inner"
    assert step(observation=inner, system_prompt="outer").system_prompt == "outer"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b'{"observation": {"data": [0, NaN]}}', "`observation.data[1]`"),
        (b'{"reward": -Infinity}', "`reward`"),
        (b"NaN", "the body"),
    ],
)
def test_nan_in_json_is_refused_with_its_place(body: bytes, place: str) -> None:
    with pytest.raises(EpisodeError) as caught:
        answers.decode(body)
    assert str(caught.value).startswith(place)


@pytest.mark.parametrize(
    "body", [b"", b"  ", b"<html>no</html>", b'{"a":', b"\xff\xfe", b'"\xff"', b"[" * 100_000, b'{"reward": 1e999}']
)
def test_what_is_no_json_is_refused_with_its_beginning_as_detail(body: bytes) -> None:
    with pytest.raises(EpisodeError) as caught:
        answers.decode(body)
    assert caught.value.cause is Cause.ENVIRONMENT_INVALID
    assert len(caught.value.detail) <= answers.TEXT_LIMIT


def test_an_oracle_answer_must_hold_an_action() -> None:
    assert answers.read_oracle({"action": None}) is None
    with pytest.raises(EpisodeError, match="`action`"):
        answers.read_oracle({"best": 1})


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"detail": "board is full"}', "board is full"),
        (b'{"detail": [{"loc": ["body", "seed"], "msg": "no int"}]}', "body.seed: no int"),
        (b'{"detail": {"code": 7}}', '{"code":7}'),
        (b'{"error": "broken"}', "broken"),
        (b'"plain"', "plain"),
        (b"Internal Server Error", "Internal Server Error"),
        (b'{"other": 1}', '{"other": 1}'),
        (b"", ""),
        (b"\xff", "\ufffd"),
    ],
)
def test_error_answers_give_their_own_words(body: bytes, words: str) -> None:
    assert answers.own_words(body) == words


def test_long_error_texts_keep_both_ends() -> None:
    words = answers.own_words(b"first " + b"x" * 10_000 + b" last")
    assert len(words) <= answers.TEXT_LIMIT
    assert words.startswith("first")
    assert words.endswith("last")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from([*sorted(answers.STEP), "done", "data", "content_type", "other"])
ANSWER = JSON | st.dictionaries(KEYS, JSON | st.dictionaries(KEYS, JSON, max_size=4), max_size=8)


def outcome(read: Callable[[Any], Any], value: Any) -> Any:
    """What `read` gives, its EpisodeError included; any other exception fails the test."""
    try:
        return read(value)
    except EpisodeError as error:
        return error


@given(ANSWER)
def test_any_json_gives_an_observation_or_an_episode_error(value: Any) -> None:
    result = outcome(answers.read_reset, value)
    if isinstance(result, EpisodeError):
        assert result.cause is Cause.ENVIRONMENT_INVALID
    else:
        assert msgspec.json.decode(msgspec.json.encode(result), type=Observation) == result


@given(ANSWER)
def test_any_json_gives_a_step_or_an_episode_error(value: Any) -> None:
    result = outcome(answers.read_step, value)
    if isinstance(result, EpisodeError):
        assert result.cause is Cause.ENVIRONMENT_INVALID
        assert 0 < len(str(result)) < 500
    else:
        assert math.isfinite(result.reward)
        assert type(result.terminated) is bool
        assert type(result.truncated) is bool
        assert type(result.info) is dict


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode) | ANSWER.map(msgspec.json.encode))
def test_any_bytes_give_a_value_or_an_episode_error(body: bytes) -> None:
    result = outcome(answers.decode, body)
    assert not isinstance(result, EpisodeError) or result.cause is Cause.ENVIRONMENT_INVALID
    assert len(answers.own_words(body)) <= answers.TEXT_LIMIT


@pytest.mark.parametrize(
    ("answer", "data"),
    [
        ({"data": "x", "info": {"active_role": "b"}}, "x"),
        ({"observation": "x"}, "x"),
        ({"observation": "x", "info": {"active_role": "b"}}, {"observation": "x", "info": {"active_role": "b"}}),
    ],
)
def test_a_reset_may_say_more_beside_its_observation(answer: dict[str, Any], data: Any) -> None:
    read = answers.read_reset(answer)
    assert (read.data, read.info) == (data, answer.get("info", {}))
    assert not any("info" in note for note in read.notes)
