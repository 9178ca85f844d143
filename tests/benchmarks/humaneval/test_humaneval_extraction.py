"""Which program an answer means."""

import contextlib

import pytest

from mesocosm.benchmarks.builtin.humaneval.extraction import programs

PROMPT = '''from typing import List


def twice(numbers: List[int]) -> List[int]:
    """ Return every number twice as large. """
'''
BODY = "    result = []\n    for n in numbers:\n        result.append(2 * n)\n    return result"
WHOLE = "def twice(numbers):\n    return [2 * n for n in numbers]"


def result(answer: str) -> object:
    """Return what the meant program gives for [1, 2]."""
    for program in programs(PROMPT, "twice", answer):
        try:
            code = compile(program, "answer", "exec")
        except SyntaxError:
            continue
        space: dict[str, object] = {}
        exec(code, space)
        function = space["twice"]
        assert callable(function)
        return function([1, 2])
    return None


@pytest.mark.parametrize(
    "answer",
    [
        BODY,
        BODY.strip(),
        "\n" + BODY + "\n\n",
        BODY.replace("\n    ", "\n")[4:],
        BODY + "\n\n\nprint(twice([1]))\nif __name__ == '__main__':\n    broken(",
        "return [2 * n for n in numbers]",
        WHOLE,
        PROMPT + BODY,
        f"```python\n{WHOLE}\n```",
        f"Here it is:\n\n```python\n{PROMPT}{BODY}\n```\nIt doubles every number.",
        f"```\n{BODY}\n```",
        f"   ```py\n{WHOLE}\n   ```",
        f"~~~\n{WHOLE}\n~~~",
        f"```python\n{WHOLE}",
        f"```python\n{WHOLE}\n```\nUse it:\n```python\nprint(twice([1]))\n```",
        f"A first try:\n```python\ndef twice(numbers):\n    return numbers\n```\nBetter:\n```python\n{WHOLE}\n```",
        f"```python\nimport math\n\ndef helper(n):\n    return 2 * n\n\n{WHOLE.replace('2 * n', 'helper(n)')}\n```",
        f"```python\nfrom __future__ import annotations\n{WHOLE}\n```",
    ],
)
def test_the_program_is_found(answer: str) -> None:
    assert result(answer) == [2, 4]


@pytest.mark.parametrize("answer", ["", "  \n ", "```python\n\n```"])
def test_an_answer_without_code_has_no_program(answer: str) -> None:
    assert programs(PROMPT, "twice", answer) == []


@pytest.mark.parametrize("answer", ["I cannot help with that.", PROMPT, "pass", "```\nfence\n" * 5000])
def test_what_is_no_solution_gives_no_result(answer: str) -> None:
    with contextlib.suppress(NameError):
        assert result(answer) is None
