"""Comparing a framework's own runner with ours."""

from pathlib import Path

import pytest

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.guests.messages import GuestScore, OriginalSample
from mesocosm.guests.parity import GuestSample, paired, their_samples
from mesocosm.guests.replies import read_replies
from mesocosm.models.openai import PROBE


def sample(task: str = "a", trial: int = 0, **scores: float) -> GuestSample:
    return GuestSample(task, trial, scores)


def test_equal_scores_are_equal() -> None:
    (pair,) = paired([sample(right=1.0)], [sample(right=1.0)])

    assert pair.equal
    assert pair.differences == []


def test_a_different_score_is_named() -> None:
    (pair,) = paired([sample(right=1.0, long=0.5)], [sample(right=0.0, long=0.5)])

    assert not pair.equal
    assert [(one.score, one.theirs, one.ours) for one in pair.differences] == [("right", 1.0, 0.0)]


def test_a_missing_score_differs_from_zero() -> None:
    (pair,) = paired([sample()], [sample(right=0.0)])

    assert [(one.theirs, one.ours) for one in pair.differences] == [(None, 0.0)]


def test_the_order_of_additions_is_no_difference() -> None:
    (pair,) = paired([sample(right=0.1 + 0.2)], [sample(right=0.3)])

    assert pair.equal


def test_a_sample_that_one_side_has_not_played_is_not_equal() -> None:
    pairs = paired([sample("a"), sample("b")], [sample("a")])

    assert [pair.equal for pair in pairs] == [True, False]


def test_trials_are_compared_each_with_its_own() -> None:
    pairs = paired([sample(trial=1, right=1.0), sample(right=0.0)], [sample(right=0.0), sample(trial=1, right=1.0)])

    assert [(pair.trial, pair.equal) for pair in pairs] == [(0, True), (1, True)]


def test_scores_without_a_value_are_left_out() -> None:
    told = OriginalSample(1, scores=(GuestScore("right", None), GuestScore("long", 2.0)), failed="")

    assert their_samples([told], ["a", "b"]) == [sample("b", long=2.0)]


def written(folder: Path, *lines: str) -> Path:
    path = folder / "replies.jsonl"
    path.write_text("\n".join(lines))
    return path


def ask(*contents: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": content} for content in contents]}


def test_a_reply_is_found_by_the_last_message(tmp_path: Path) -> None:
    replies = read_replies(written(tmp_path, '{"asked": "1 + 1?", "reply": "2"}'))

    assert replies.answer(ask("hello", "1 + 1?")).text == "2"
    assert replies.answer(ask([{"type": "text", "text": "1 + 1?"}])).text == "2"
    assert replies.unknown == []


def test_a_whole_conversation_goes_before_its_last_message(tmp_path: Path) -> None:
    whole = '{"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "go"}], "reply": "whole"}'
    replies = read_replies(written(tmp_path, '{"asked": "go", "reply": "last"}', whole))

    assert replies.answer(ask("a", "go")).text == "whole"
    assert replies.answer(ask("b", "go")).text == "last"


def test_a_reply_may_call_tools(tmp_path: Path) -> None:
    line = '{"asked": "go", "tool_calls": [{"name": "look", "arguments": {"at": 1}}]}'

    said = read_replies(written(tmp_path, line)).answer(ask("go"))

    assert said.tool_calls == (("look", {"at": 1}),)
    assert said.finish_reason == "tool_calls"


def test_a_text_may_have_log_probabilities(tmp_path: Path) -> None:
    replies = read_replies(
        written(tmp_path, '{"asked": "a b c", "tokens": [["a", null], [" b", -1.5, -0.5], [" c", -2]]}')
    )

    said = replies.answer({"prompt": "a b c", "echo": True, "logprobs": 1, "max_tokens": 1})

    assert said.logprobs is not None
    assert said.text.startswith("a b c")
    assert said.logprobs["tokens"][:3] == ["a", " b", " c"]
    assert said.logprobs["token_logprobs"][:3] == [None, -1.5, -2]
    assert [top and max(top.values()) for top in said.logprobs["top_logprobs"][:3]] == [None, -0.5, -2]
    assert said.logprobs["text_offset"] == [0, 1, 3, 5]


def test_the_question_whether_a_server_tells_log_probabilities_is_answered(tmp_path: Path) -> None:
    replies = read_replies(written(tmp_path, '{"asked": "1 + 1?", "reply": "2"}'))

    said = replies.answer({"prompt": PROBE, "echo": True, "logprobs": 1, "max_tokens": 1})

    assert said.logprobs is not None
    assert (replies.asked, replies.unknown) == (0, [])


def test_a_question_without_a_reply_is_noted(tmp_path: Path) -> None:
    replies = read_replies(written(tmp_path, '{"asked": "1 + 1?", "reply": "2"}'))

    replies.answer(ask("2 + 2?"))

    assert replies.unknown == ["2 + 2?"]
    assert replies.asked == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("no json", "line 2"),
        ('{"reply": "2"}', "exactly one of 'asked' and 'messages'"),
        ('{"asked": "a", "reply": "other"}', "in another way"),
        ('{"asked": "b", "answer": "2"}', "answer"),
        ('{"asked": "a b", "tokens": [["a", null], ["b", -1]]}', "not the text"),
        ('{"asked": "a b", "tokens": [["a", null], [" b", "-1"]]}', "LOGPROB"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        read_replies(written(tmp_path, '{"asked": "a", "reply": "one"}', line))


def test_no_file_and_no_replies_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_replies(tmp_path / "nothing")
    with pytest.raises(UsageError, match="has no replies"):
        read_replies(written(tmp_path, ""))
