r"""The grader `math`: what is equal, what is not, and what a reply states."""

import importlib.util
import random
from importlib.machinery import ModuleSpec

import pytest
from tests.rollouts.graders.math_forms import HOSTILE, RIGHT, WRONG

from mesocosm.rollouts.graders.answer import MissingLabel
from mesocosm.rollouts.graders.math import MathConfig, MathRule


def graded(reply: str, label: str | None, **options: object) -> float:
    return MathRule(MathConfig.model_validate(options)).grade(reply, label).value


PAIRS = [(label, answer) for label, answers in RIGHT.items() for answer in answers]
BARE = [(label, answer.rstrip(". ")) for label, answer in PAIRS if "$" not in answer and "boxed" not in answer]


def test_right_answers_are_accepted_in_all_forms() -> None:
    assert [(label, answer) for label, answer in PAIRS if not graded(answer, label)] == []


@pytest.mark.parametrize("frame", ["So we have\n\\[\\boxed{{{}}}\\]\nDone.", "I add them.\n\n**Final answer:** ${}$."])
def test_right_answers_are_accepted_in_a_box_and_in_a_statement(frame: str) -> None:
    assert [pair for pair in BARE[::4] if not graded(frame.format(pair[1]), pair[0])] == []


def test_wrong_answers_in_all_forms_are_refused_alone_and_in_a_box() -> None:
    accepted = [
        (label, frame.format(answer))
        for label, answers in WRONG.items()
        for answer in answers
        for frame in ("{}", "\\boxed{{{}}}" if answer.count("{") == answer.count("}") else "Answer: {}")
        if graded(frame.format(answer), label)
    ]
    assert accepted == []


def test_hostile_answers_end_and_earn_nothing() -> None:
    assert [answer[:60] for answer in HOSTILE if graded(answer, "7") or graded(answer, "y")] == []


STATED = (
    *(
        "Half of it. \\boxed{18}",
        "\\boxed{17}... no wait.\n\\boxed{18}",
        "Answer: 18",
        "**Answer:** 18",
        "The answer is 18.",
        "#### 18",
    ),
    *(
        "The final answer is $18$.",
        "First $17$, then\nso in the end it is $18$.",
        "<think>\\boxed{3}</think>\\boxed{18}",
        "$x = 18$",
    ),
    *(
        "Thus $x = 3 \\cdot 6 = 18$.",
        "The answer is $\\boxed{18}$",
        "\\fbox{18}",
        "Answer:\n18",
        "so\n$$18$$",
        "The answer is 18. It is even.",
    ),
    *(
        "~~\\boxed{17}~~ \\boxed{18}",
        "The answer is: \\(18\\)",
        "# Answer: \\[18\\]",
        "The solution is $x=18$.",
        "Result: 18 apples",
    ),
)


def test_what_a_reply_states_last_is_its_answer() -> None:
    assert [reply for reply in STATED if not graded(reply, "18")] == []


DENIED = (
    *(
        "\\boxed{18} is wrong",
        "~~\\boxed{18}~~",
        "It is not \\boxed{18}.",
        "\\boxed{18}\n\\boxed{17}",
        "The answer is not 18.",
        "Answer: 18?",
    ),
    *(
        "\\boxed{18} or \\boxed{17}",
        "\\boxed{16} \\boxed{17} \\boxed{18}",
        "Answer: 17 or 18",
        "I guess $17$ or $18$",
        "18 is in noise 17 5",
    ),
    *(
        "<think>\\boxed{18}</think> I do not know",
        "<think>\\boxed{18}",
        "\\boxed{18} is not the answer",
        "It isn't $18$",
        "\\boxed{}",
        "\\boxed{18",
    ),
    *(
        "\n".join(f"\\boxed{{{n}}}" for n in (15, 16, 17, 18)),
        "Answer: 15\nAnswer: 16\nAnswer: 17\nAnswer: 18",
        "The answer is 18 or so",
    ),
    *(
        "Answer: 18, 17",
        "Is it $18$",
        "The answer is between 17 and 18",
        "\\boxed{x = x}",
        "\\boxed{18 = 17}",
        "\\boxed{\\boxed{17}}",
        "{18, 17, 16}",
    ),
)


def test_what_a_reply_denies_or_lists_is_no_answer() -> None:
    replies = [reply for reply in DENIED if reply != "Is it $18$"]
    assert [reply for reply in replies if graded(reply, "18")] == []


def test_solutions_in_a_sentence_are_one_answer() -> None:
    assert graded("The solutions are $x = 2$ and $x = -3$.", "2, -3")
    assert not graded("The solutions are $x = 2$ and $x = -3$.", "-3")


def test_boxes_beside_each_other_are_one_answer() -> None:
    assert graded("$\\boxed{2}$ and $\\boxed{3}$", "3, 2")
    assert not graded("$\\boxed{2}$ and $\\boxed{3}$", "3")


def test_arithmetic_that_is_left_to_do_may_be_allowed() -> None:
    assert not graded("17*23", "391")
    assert graded("17*23", "391", unfinished=True)


def test_a_tolerance_is_a_share_of_the_label() -> None:
    assert graded("3.14", r"\pi", tolerance=0.001)
    assert not graded("3.2", r"\pi", tolerance=0.001)


def test_the_answer_may_stand_behind_a_marker_and_the_label_in_a_solution() -> None:
    assert graded("A: $x^2$", r"We get $x \cdot x$, so \boxed{x^2}.", after="A:")


def test_a_row_without_a_label_is_at_fault() -> None:
    with pytest.raises(MissingLabel):
        graded("18", None)


def test_without_sympy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str, package: str | None = None) -> ModuleSpec | None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", none)
    with pytest.raises(RuntimeError, match=r"mesocosm\[math\]"):
        graded("18", "18")


PIECES = (
    *(
        "\\boxed{3}",
        "\\boxed{",
        "}",
        "3",
        "4",
        "1/2",
        "x",
        "=",
        "x=",
        "or",
        "and",
        ",",
        "\\pm",
        "(",
        ")",
        "[",
        "]",
        "The answer is",
    ),
    *(
        "\\frac{1}{2}",
        "\\sqrt{2}",
        "%",
        "°",
        "Answer:",
        "\n",
        "$",
        "^",
        "2",
        "-",
        "+",
        "*",
        "<",
        "\\cup",
        "\\infty",
        "\\{",
        "\\}",
    ),
)
LABELS = ("3", "4", "1/2", "x", "1,2", "(1,2)", r"\sqrt{2}", "0", "2", "-3", r"\{3,4\}", "x>3", r"\pm 3", "12")


def test_no_reply_is_right_for_two_labels() -> None:
    """Then a guess is one guess, and no way of guessing is better than chance."""
    rng, right = random.Random(7), 0
    for _ in range(150):
        reply = rng.choice(("", " ")).join(rng.choice(PIECES) for _ in range(rng.randint(1, 6)))
        values = [graded(reply, label) for label in LABELS]
        assert sum(values) <= 1, reply
        right += sum(values) == 1
    assert right > 10
