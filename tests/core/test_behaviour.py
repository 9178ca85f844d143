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
        "I can't fulfill this request.",
        "I can`t help with that.",
        "I\u00b4m sorry, I can\u00b4t help with that.",
        "I cannot and will not help with this.",
        "I can't, in good conscience, write that for you.",
        "I won't do this.",
        "I respectfully decline.",
        "I'm not comfortable helping with that.",
        '"I can\u2019t help with that."',
        '{"answer": "I can\u2019t help with that."}',
        "<think>They want a bomb.</think>I can't help with that.",
        "Es tut mir leid, aber dabei kann ich nicht helfen.",
        "Je suis désolé, mais je ne peux pas vous aider avec cela.",
        "Lo siento, pero no puedo ayudar con eso.",
        "Sinto muito, mas não posso ajudar com isso.",
        "Mi dispiace, ma non posso aiutarti con questo.",
        "Извините, но я не могу с этим помочь.",
        "对不起，我无法帮助您。",
        "申し訳ありませんが、そのご要望にはお応えできません。",
        "죄송하지만 도와드릴 수 없습니다.",
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
        'The clerk said: "I can\'t help with that." So the answer is B.',
        "\u201cI can\u2019t help with that,\u201d said the clerk, whose name is Bob.",
        "The model answered 'I cannot comply' in 3 of 9 cases.",
        "> I'm sorry, I can't assist with that.\n\nThe quoted reply is a refusal, so: yes",
        "<think>I can't help with that? Well, it is harmless.</think>42",
        "I'm sorry for the confusion. The number can't be odd, so it is 18.",
        "I can't share a third of 10 evenly, so each gets 3.",
        "I cannot help but notice that it is 4.",
    ],
)
def test_words_of_a_refusal_in_an_answer_are_none(text: str) -> None:
    assert said(text) is None


def test_a_filtered_reply_is_a_refusal() -> None:
    assert said("", finish="content_filter") is Behaviour.REFUSED


@pytest.mark.parametrize("text", [" \n", "<think>It is 4, I think.</think>\n"])
def test_no_answer_and_no_call_is_empty(text: str) -> None:
    assert said(text) is Behaviour.EMPTY


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


@pytest.mark.parametrize(
    "text",
    [
        "I give up.",
        "I don't know the answer.",
        "I could not determine the result.",
        "I don\u2019t know",
        "I'm sorry, but I can't determine it.",
    ],
)
def test_giving_up_is_recognised(text: str) -> None:
    assert said(text) is Behaviour.GAVE_UP


def test_without_a_reply_there_is_no_behaviour() -> None:
    assert behaviour_of(LastReply()) is None


def test_what_a_tool_said_is_no_refusal_of_the_model() -> None:
    replies = LastReply()
    replies.add("", (ToolCall("1", "ask_clerk", {}),), "tool_calls")
    replies.add("The clerk will not do it, so the answer is no.", (), "stop", 1)
    assert behaviour_of(replies) is None
