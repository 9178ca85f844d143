"""What a model did instead of answering."""

import pytest

from mesocosm.core.behaviour import Behaviour, LastReply, behaviour_of
from mesocosm.core.message import ToolCall


def said(*texts: str, finish: str = "stop", malformed: int = 0) -> Behaviour | None:
    replies = LastReply()
    for text in texts:
        replies.add(text, (), finish)
    return behaviour_of(replies, malformed)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I\u2019m sorry, but I can\u2019t assist with this request.",
        "I cannot provide instructions for that.",
        "I must decline.",
        "This is against my guidelines.",
        "I'm unable to help with this.",
    ],
)
def test_a_refusal_is_recognised(text: str) -> None:
    assert said(text) is Behaviour.REFUSED


@pytest.mark.parametrize(
    "text",
    [
        "I can help you with that: 4.",
        "She can't carry more than 3 eggs. A: 3",
        "The answer cannot be negative, so it is 7.",
        "Sorry is a word of five letters.",
    ],
)
def test_words_of_a_refusal_in_an_answer_are_none(text: str) -> None:
    assert said(text) is None


def test_a_filtered_reply_is_a_refusal() -> None:
    assert said("", finish="content_filter") is Behaviour.REFUSED


def test_no_text_and_no_call_is_empty() -> None:
    assert said(" \n") is Behaviour.EMPTY


def test_a_call_without_text_is_not_empty() -> None:
    replies = LastReply()
    replies.add("", (ToolCall("1", "look", {}),), "tool_calls")
    assert behaviour_of(replies) is None


def test_a_reply_that_ends_at_its_limit_is_cut_off() -> None:
    assert said("First, we", finish="length") is Behaviour.CUT_OFF


def test_the_same_words_to_the_limit_are_a_loop() -> None:
    assert said("Let me think. " + "I should check again. " * 40, finish="length") is Behaviour.LOOPED


def test_the_same_action_three_times_in_a_row_is_a_loop() -> None:
    assert said("go north", "go north", "go north", "go south") is Behaviour.LOOPED
    assert said("go north", "go south", "go north", "go south") is None


def test_the_same_action_in_other_places_is_no_loop() -> None:
    replies = LastReply()
    for place in range(9):
        replies.add("go left", (), "stop", place)
    assert behaviour_of(replies) is None


def test_equal_replies_to_a_program_are_no_loop() -> None:
    replies = LastReply()
    for _ in range(5):
        replies.add("yes", (), "stop")
    assert behaviour_of(replies, in_turn=False) is None


def test_the_same_tool_with_other_arguments_is_no_loop() -> None:
    replies = LastReply()
    for number in range(4):
        replies.add("", (ToolCall(str(number), "read", {"line": number}),), "tool_calls")
    assert behaviour_of(replies) is None


def test_a_table_ruler_is_no_loop() -> None:
    assert said("| a | b |\n" + "-" * 400) is None


def test_malformed_replies_are_told_where_nothing_worse_is() -> None:
    assert said("forward", malformed=2) is Behaviour.MALFORMED


@pytest.mark.parametrize("text", ["I give up.", "I don't know the answer.", "I could not determine the result."])
def test_giving_up_is_recognised(text: str) -> None:
    assert said(text) is Behaviour.GAVE_UP


def test_without_a_reply_there_is_no_behaviour() -> None:
    assert behaviour_of(LastReply()) is None
