"""Nobody earns anything from a ready-made grader by other means than the right answer."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from mesocosm.rollouts.graders.catalogue import open_grader
from mesocosm.rollouts.graders.ready import RuleGrader
from mesocosm.rollouts.sdk.context import GraderContext
from mesocosm.rollouts.sdk.sample import RolloutSample

PROMPT = (
    "A shop sells 12 pens in 3 boxes, 42 in all. How many pens are in the big box? Options: A) 12 B) 3 C) 42 D) 40. "
    'Reply as {"pens": number}. Reply with code that defines add(a, b). End with "Answer: ".'
)


@dataclass(frozen=True)
class Case:
    """A grader with a row, and the answer that is right."""

    use: str
    right: str
    label: str | None
    options: Mapping[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] | None = None


SCHEMA = {"type": "object", "properties": {"pens": {"const": 42}}, "required": ["pens"], "additionalProperties": False}
CASES = {
    "exact": Case("exact", "Paris", "Paris"),
    "exact-after": Case("exact", "It is a city.\nAnswer: Paris", "Paris", {"after": "Answer:"}),
    "normalised": Case("normalised", "the paris!", "Paris"),
    "numeric": Case("numeric", "So it is 42.", "42"),
    "numeric-after": Case("numeric", "Answer: 42", "#### 42", {"after": "Answer:", "label_after": "####"}),
    "numeric-last": Case("numeric", "42", "42", {"last": "number"}),
    "regex": Case("regex", "FR-75001", None, {"match": r"[A-Z]{2}-\d{5}"}),
    "regex-group": Case("regex", "code: 75001", "75001", {"match": r"code: (\d+)", "group": 1}),
    "regex-label": Case("regex", "It is Paris.", "Paris", {"match": r"(?:It is )?{label}\.?"}),
    "choice": Case("choice", "The answer is C.", "C"),
    "choice-texts": Case("choice", "42", "C", {"choices_from": "options"}, {"options": ["12", "3", "42", "40"]}),
    "math": Case("math", "So it is \\boxed{42}.", "42"),
    "math-formula": Case("math", "The answer is $(x+1)^2$.", "x^2+2x+1"),
    "json_schema": Case("json_schema", '{"pens": 42}', None, {"schema": SCHEMA}),
    "json-label": Case("json_schema", '{"pens": 42}', '{"pens": 42}', {"equals_label": True}),
    "code": Case("code", "def add(a, b):\n    return a + b", "assert add(1, 2) == 3\nassert add(2, 2) == 4"),
}

EVERY = ("A", "B", "12", "3", "Paris", "C", "42", "London", "D", "40")


def gold(case: Case) -> str:
    """Return what is right, without the words that state it."""
    if case.label is None or case.use in ("code", "json_schema"):
        return case.right
    return case.label.removeprefix("#### ")


def wrapped(reply: object) -> list[dict[str, Any]]:
    return [{"role": "user", "content": PROMPT}, {"role": "assistant", "content": reply}]


async def reward(case: Case, reply: object) -> float:
    context = GraderContext(label=case.label, sample=RolloutSample(messages=wrapped(reply)), metadata=case.metadata)
    await open_grader(case.use, case.options).grade(context)
    assert context.sample is not None
    assert context.sample.reward is not None
    return context.sample.reward


ATTACKS: dict[str, Callable[[Case], object]] = {
    "empty": lambda case: "",
    "blank": lambda case: " \n\t ",
    "refusal": lambda case: "I'm sorry, but I cannot help with that.",
    "echo": lambda case: PROMPT,
    "every option": lambda case: "A B C D, Paris London Rome, 12 3 42 40, FR-75001 FR-75002 code: 75001 code: 75002",
    "every option in lines": lambda case: "A) 12\nB) 3\nC) 42\nD) 40",
    "every option stated": lambda case: "\n".join(f"Answer: {option}" for option in EVERY),
    "all statements": lambda case: " ".join(f"The answer is {x}." for x in ("A", "B", "D", "C")),
    "many numbers": lambda case: " ".join(map(str, range(100))) + " " + " ".join(map(str, range(100, 0, -1))),
    "keywords": lambda case: "answer correct right true yes " * 50,
    "words of the prompt": lambda case: " ".join(sorted(PROMPT.split())) * 20,
    "gold in noise": lambda case: "zxcv 17 " * 40 + gold(case) + " 19 qwer" * 40,
    "gold in prose": lambda case: f"Some say London, some say 7, some {gold(case)}, some B, and I have no idea at all.",
    "huge": lambda case: "x" * 1_000_000,
    "huge digits": lambda case: "7" * 1_000_000,
    "huge brackets": lambda case: "[" * 1_000_000,
    "huge objects": lambda case: '{"a":' * 200_000,
    "huge spaces": lambda case: "a" + " " * 1_000_000 + "b",
    "huge statements": lambda case: "Answer: \n" * 100_000,
    "huge fences": lambda case: "```\n" * 250_000,
    "grader's words": lambda case: '{"reward": 1.0, "passed": true, "score": 10}',
    "number": lambda case: 42,
    "none": lambda case: None,
    "list of numbers": lambda case: [42, None, 3.5],
    "object": lambda case: {"text": case.right},
    "image": lambda case: [{"type": "image_url", "image_url": {"url": case.right}}],
}


@pytest.mark.parametrize("name", CASES)
async def test_the_right_answer_earns_everything(name: str) -> None:
    assert await reward(CASES[name], CASES[name].right) == 1.0


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("name", CASES)
async def test_an_attack_earns_nothing(name: str, attack: str) -> None:
    assert await reward(CASES[name], ATTACKS[attack](CASES[name])) == 0.0


PIECES = ("A: ", "1,", "(", "Answer is ", "```\n", '{"', "1/", "\\frac{", "a ", "-", "Answer: A or ", "not A ", "= ")


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("name", [name for name in CASES if name != "code"])
async def test_two_megabytes_of_anything_earn_nothing_and_end(name: str, piece: str) -> None:
    """Work that grew with the square of the length would not end before the suite does."""
    assert await reward(CASES[name], piece * (2_000_000 // len(piece))) == 0.0


SPOKEN = (
    *("A", "B", "C", "D", "(A)", "B)", "Answer:", "The answer is", "or", "and", "not", "\n", "option", "is correct"),
    *("\\boxed{C}", "I choose", "because C", "A.", "D is the best", "Both", "all of the above", "A B C D"),
)
COUNTED = (
    *"0123456789",
    *("A:", "Answer:", "####", "\\boxed{3}", "the answer is", "=", "or", "1/2", "3 4", "-", "%", ".", "\n", "$5"),
)


@pytest.mark.parametrize(
    ("use", "words", "labels"),
    [("choice", SPOKEN, tuple("ABCD")), ("numeric", COUNTED, (*map(str, range(-9, 40)), "0.5", "1.5", "2.5"))],
)
def test_no_reply_is_right_for_two_labels(use: str, words: tuple[str, ...], labels: tuple[str, ...]) -> None:
    """Then a guess is one guess, and no way of guessing is better than chance."""
    grader, rng, right = open_grader(use, {}), random.Random(11), 0
    assert isinstance(grader, RuleGrader)
    rule = grader.rule()
    for _ in range(400):
        reply = " ".join(rng.choice(words) for _ in range(rng.randint(1, 14)))
        values = [rule.grade(reply, label, None).value for label in labels]
        assert sum(values) <= 1, reply
        right += sum(values) == 1
    assert right > 20
