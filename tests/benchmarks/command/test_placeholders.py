"""Words with placeholders."""

from typing import Any

import pytest

from mesocosm.benchmarks.placeholders import Words, check, fill, names
from mesocosm.core.failure import UsageError

VALUES: dict[str, Any] = {
    "a": "x y",
    "n": 3,
    "f": 0.5,
    "t": True,
    "no": False,
    "none": None,
    "l": ["p", 1],
    "o": {"k": 1},
}


@pytest.mark.parametrize(
    ("words", "filled"),
    [
        (["{a}", "--n={n}", "{f}", "{t}"], ["x y", "--n=3", "0.5", "true"]),
        (["{{a}}", "{{{a}}}"], ["{a}", "{x y}"]),
        ([["--x", "{none}"], ["--y", "{no}"]], ["--y", "false"]),
        ([["--t", "{?t}"], ["--no", "{?no}"], ["--none", "{?none}"], ["--gone", "{?gone}"]], ["--t"]),
        (["{l}", "l={l}"], ["p", "1", "l=p,1"]),
        (["{o}"], ['{"k": 1}']),
        ([["{?t}x{?l}"]], ["x"]),
        (["$(touch x); `id` && {a}"], ["$(touch x); `id` && x y"]),
    ],
)
def test_words_are_filled(words: Words, filled: list[str]) -> None:
    assert fill(words, VALUES) == filled


def test_a_value_is_never_read_as_a_placeholder() -> None:
    assert fill(["{a}"], {"a": "{n} {{"}) == ["{n} {{"]


def test_a_single_word_must_have_its_value() -> None:
    with pytest.raises(UsageError, match="needs none"):
        fill(["{none}"], VALUES)


@pytest.mark.parametrize("word", ["{", "}", "{a", "a}", "{{}"])
def test_a_brace_that_stands_alone_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="single brace"):
        names(word)


def test_an_unknown_placeholder_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="known: model, temperature"):
        check(["{temprature}"], ["temperature", "model"])
