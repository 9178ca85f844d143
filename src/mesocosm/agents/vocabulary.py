"""Find the values of a discrete space in free text, ignoring case, underscores, hyphens and spaces."""

import re
from collections.abc import Sequence
from typing import Any

from mesocosm.agents.chosen_option import MARKUP, Token

_TOKEN = re.compile(
    r"(?P<join>(?<=[^\W_])[-_]++(?=[^\W_]))|\d++(?:\.\d++)*+|[^\W\d_]++[^\W_]*+(?:['’][^\W_]++)*+|\n|[^\w\s]|_"
)
_LONE = frozenset(("a", "i"))
"""Values that are English words: they count only in the declared case, and not before another word."""
_AFTER_LONE = frozenset(
    ("is", "are", "was", "because", "since", "and", "or", "as", "over", "but", "so", "would", "looks", "seems", "not")
)


class _Node:
    """A node of the token trie: a token within one or more values."""

    __slots__ = ("next", "values")

    def __init__(self) -> None:
        self.next: dict[str, _Node] = {}
        self.values: list[str] = []


class Vocabulary:
    """Declared values, returned in their declared spelling. Implements chosen_option.Reader."""

    def __init__(self, values: Sequence[str]) -> None:
        self._plain = {value.strip().casefold(): value for value in reversed(values)}
        self._declared = {value: value for value in values}
        self._longest = 2 * max(map(len, values), default=0) + 16
        self._root = _Node()
        for value in values:
            node = self._root
            for token in self.tokens(value):
                node = node.next.setdefault(token.key, _Node())
            node.values.append(value)

    def exact(self, text: str) -> str | None:
        """Return the value that the whole text represents, ignoring markup around it; None if there is none."""
        bare = text.strip()
        found = self._declared.get(bare) or self._plain.get(bare.casefold())
        if found is not None:
            return found
        bare = bare.strip(MARKUP)
        if not bare or len(bare) > self._longest:
            return None
        tokens = self.tokens(bare)
        length, value = self._walk(bare, tokens, 0)
        return value if length and length == len(tokens) else None

    def tokens(self, text: str) -> list[Token]:
        """Split into words, numbers and symbols; hyphens and underscores inside a name are left out."""
        return [
            Token(match[0].casefold(), match.start(), match.end())
            for match in _TOKEN.finditer(text)
            if match.lastgroup is None
        ]

    def match(self, text: str, tokens: Sequence[Token], at: int) -> tuple[int, Any]:
        """Return length in tokens and value of the longest match at token `at`, whole words only; else (0, None)."""
        if tokens[at].key not in self._root.next:
            return 0, None
        length, value = self._walk(text, tokens, at)
        if value is None:
            return 0, None
        start, end = tokens[at].start, tokens[at + length - 1].end
        if _glued(text, start, end) or (value.casefold() in _LONE and _is_word(text, value, tokens, at)):
            return 0, None
        return length, value

    def _walk(self, text: str, tokens: Sequence[Token], at: int) -> tuple[int, str | None]:
        node: _Node | None = self._root
        length, values = 0, list[str]()
        for index in range(at, len(tokens)):
            node = node.next.get(tokens[index].key) if node else None
            if node is None:
                break
            if node.values:
                length, values = index - at + 1, node.values
        if not values:
            return 0, None
        spelled = text[tokens[at].start : tokens[at + length - 1].end]
        return length, spelled if spelled in values else values[0]


def _glued(text: str, start: int, end: int) -> bool:
    """Return whether the match is part of a longer word: `left` in `left-hand`, 5 in `-5`, `5.5` and `B5`."""
    before, after = text[max(start - 2, 0) : start], text[end : end + 2]
    if before and text[start].isalnum():
        if before[-1].isalnum() or (before[-1] in "-_" and before[0].isalnum() and len(before) == 2):
            return True
        if text[start].isdigit() and before[-1] in "-+−":
            return True
    if after and text[end - 1].isalnum():
        if after[0].isalnum() or (after[0] in "-_" and len(after) == 2 and after[1].isalnum()):
            return True
        return text[end - 1].isdigit() and after[0] in ".," and len(after) == 2 and after[1].isdigit()
    return False


def _is_word(text: str, value: str, tokens: Sequence[Token], at: int) -> bool:
    """Return whether `a` or `i` is the English word here."""
    token = tokens[at]
    if text[token.start : token.end] != value:
        return True
    if at + 1 >= len(tokens):
        return False
    after = tokens[at + 1]
    spaced = text[token.end : token.end + 1] == " " and after.start == token.end + 1
    return spaced and after.key[0].isalpha() and after.key not in _AFTER_LONE
