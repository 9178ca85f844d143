from itertools import pairwise

from mesocosm.agents.history import IMAGE_TOKENS, History, estimated_tokens
from mesocosm.core.message import Image, Message, Text, ToolCall


def turn(number: int, size: int = 0) -> tuple[Message, Message]:
    return Message("user", f"[Step {number}]" + "x" * size), Message("assistant", f"act {number}")


def prompt(number: int) -> list[Message]:
    return [Message("user", f"[Step {number}]")]


def texts(history: History, number: int) -> list[str]:
    return [message.text for message in history.conversation(prompt(number))]


def test_full_keeps_every_turn_as_the_same_objects() -> None:
    history = History("full", 10_000)
    turns = [turn(number) for number in (1, 2, 3)]
    for messages in turns:
        history.add(messages)
    shown = history.conversation(prompt(4))
    expected = [message for messages in turns for message in messages]
    assert all(a is b for a, b in zip(shown, expected, strict=False))
    assert shown[-1].text == "[Step 4]"


def test_none_keeps_nothing() -> None:
    history = History("none", 10_000)
    history.add(turn(1))
    assert texts(history, 2) == ["[Step 2]"]


def test_a_window_keeps_the_first_turn_and_says_how_many_are_left_out() -> None:
    history = History(2, 10_000)
    for number in range(1, 7):
        history.add(turn(number))
    assert texts(history, 7) == [
        "[Step 1]",
        "act 1",
        "(3 steps left out here.)\n[Step 5]",
        "act 5",
        "[Step 6]",
        "act 6",
        "[Step 7]",
    ]


def test_one_step_left_out_is_one_step() -> None:
    history = History(1, 10_000)
    for number in (1, 2, 3):
        history.add(turn(number))
    assert "(1 step left out here.)\n[Step 3]" in texts(history, 4)


def test_the_budget_drops_oldest_turns_some_at_once() -> None:
    history = History("full", 1000)
    counts = []
    for number in range(1, 40):
        history.add(turn(number, 200))
        counts.append(len(history.conversation([])))
    assert max(counts) <= 2 * 1000 // 60 + 2
    shrunk = sum(after < before for before, after in pairwise(counts))
    assert 1 <= shrunk <= 10
    assert history.conversation([])[0].text.startswith("[Step 1]")


def test_between_drops_the_beginning_stays_the_same_objects() -> None:
    history = History("full", 1000)
    changed = 0
    before: list[Message] = []
    for number in range(1, 60):
        history.add(turn(number, 200))
        now = history.conversation([])
        changed += any(a is not b for a, b in zip(before, now, strict=False))
        before = now
    assert changed <= 15


def test_when_only_the_first_turn_fits_the_gap_is_told_in_the_prompt() -> None:
    history = History("full", 10)
    for number in (1, 2, 3):
        history.add(turn(number, 400))
    now = prompt(4)
    shown = history.conversation(now)
    assert [message.text[:8] for message in shown[:2]] == ["[Step 1]", "act 1"]
    assert shown[2].text == "(2 steps left out here.)\n[Step 4]"
    assert history.conversation(now)[2] is shown[2]


def test_results_of_tools_become_text_when_their_call_is_left_out() -> None:
    history = History(1, 10_000)
    call = ToolCall("c1", "look", {"at": "sea"})
    history.add((Message("user", "[Step 1]"), Message("assistant", "", tool_calls=(call,))))
    history.add((Message("tool", "blue", tool_call_id="c1"), Message("assistant", "", tool_calls=(call,))))
    history.add((Message("tool", "grey", tool_call_id="c1"), Message("assistant", "sail")), 2)
    history.add((Message("user", "[Step 5]"), Message("assistant", "done")))
    shown = history.conversation(prompt(6))
    assert [message.role for message in shown] == ["user", "assistant", "user", "assistant", "user"]
    assert not shown[1].tool_calls
    assert shown[1].text == 'look({"at":"sea"})'
    assert shown[2].text == "(3 steps left out here.)\n[Step 5]"


def test_leading_tool_results_of_the_oldest_turn_become_a_user_message() -> None:
    history = History(1, 10_000)
    call = ToolCall("c1", "look", {})
    for _ in range(3):
        history.add((Message("tool", "blue", tool_call_id="c1"), Message("assistant", "", tool_calls=(call,))))
    shown = history.conversation([Message("tool", "now", tool_call_id="c1")])
    assert shown[2] == Message("user", "(1 step left out here.)\nblue")
    assert shown[3].tool_calls
    assert shown[4].role == "tool"


def test_estimates_count_characters_and_images() -> None:
    assert estimated_tokens(Message("user", "x" * 400)) == 104
    picture = Message("user", (Text("x" * 40), Image(data="abc")))
    assert estimated_tokens(picture) == 10 + IMAGE_TOKENS + 4


def test_the_gap_stands_before_the_text_of_a_message_with_images() -> None:
    history = History(1, 10_000)
    for _ in range(3):
        history.add((Message("user", (Text("[Step]"), Image(data="abc"))), Message("assistant", "go")))
    assert history.conversation([])[2].content == (Text("(1 step left out here.)\n[Step]"), Image(data="abc"))
