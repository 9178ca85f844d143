"""Queries of what was said: `"exact words" word* -without in:reply tool:name`."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from mesocosm.core.failure import UsageError
from mesocosm.store.search_words import (
    ALL,
    LONGEST,
    TOOL,
    SaidIn,
    Utterance,
    bounded,
    is_alone,
    tool_key,
    words_of,
)

PLACES = {said.word: said for said in SaidIn}
"""Places by their name after `in:`."""

_MOST_TERMS = 20
_PART = re.compile(r'(-?)(in:|tool:)?(?:"([^"]*)"(\*?)|([^\s"]+))')
_AROUND = 60
_SNIPPET = 240

Heard: TypeAlias = list[tuple[Utterance, int]]
"""Passages, each with the terms that it says: bit n for the nth term of the query."""

Look: TypeAlias = Callable[[str, bool, int], int]
"""Finds the episodes of a block that say a word in some places; with True any word that begins with it."""


@dataclass(frozen=True, slots=True)
class Term:
    """Words to find, next to each other if there are several.

    `exact`: the index alone tells which episodes say them, not only which ones may. `open_end`: the last word may go
    on. `without`: episodes that say them are left out.
    """

    words: tuple[str, ...]
    pattern: re.Pattern[str]
    exact: bool
    open_end: bool
    without: bool

    def found(self, look: Look, places: int) -> int:
        """Return the episodes of a block that may say this in `places`."""
        result = -1
        for word in self.words:
            open_end = self.open_end and word is self.words[-1]
            result &= look(word, open_end, places)
            if not result:
                break
        return result


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to find in an episode: all `terms`, in `places`, and in calls and results of `tool` if given."""

    terms: tuple[Term, ...]
    places: SaidIn
    tool: str

    @property
    def exact(self) -> bool:
        """Whether the index alone answers this query."""
        if self.tool:
            return not self.terms and bool(self.places & SaidIn.CALL)
        return all(term.exact for term in self.terms)

    @property
    def words(self) -> frozenset[str]:
        """All words that it looks up."""
        return frozenset(word for term in self.terms for word in term.words)

    def found(self, look: Look, places: int, *, maybe: bool) -> int:
        """Return the episodes of a block that match; with `maybe` all that may, as terms to leave out are unproven."""
        result = -1
        if self.tool:
            result &= look(tool_key(self.tool), False, TOOL)  # noqa: FBT003 - as Look
        for term in self.terms:
            if not term.without:
                result &= term.found(look, places)
            if not result:
                return 0
        for term in self.terms:
            if term.without and not maybe:
                result &= ~term.found(look, places)
        return result

    def heard(self, said: Iterable[Utterance]) -> Heard:
        """Return which of the terms each utterance says."""
        terms = [(1 << number, term.pattern.search) for number, term in enumerate(self.terms)]
        tool = tool_key(self.tool)
        found: Heard = []
        for utterance in said:
            if tool and tool_key(utterance.tool) != tool:
                continue
            folded = utterance.text.casefold()
            found.append((utterance, sum(bit for bit, search in terms if search(folded))))
        return found

    def matches(self, heard: Heard, places: int) -> bool:
        """Return whether an episode in which this was heard matches in `places`."""
        if not self.terms:
            # A tool alone: the episodes that call it.
            return any(utterance.said & places & SaidIn.CALL for utterance, _terms in heard)
        all_terms = 0
        for utterance, terms in heard:
            if utterance.said & places:
                all_terms |= terms
        return all_terms == self._wanted

    def best(self, heard: Heard, places: int) -> Utterance | None:
        """Return the first utterance that says most of it; None if none says any."""
        found, most = None, 0 if self._wanted else -1
        for utterance, terms in heard:
            number = (terms & self._wanted).bit_count()
            if utterance.said & places and number > most:
                found, most = utterance, number
        return found

    @property
    def _wanted(self) -> int:
        return sum(1 << number for number, term in enumerate(self.terms) if not term.without)

    def snippet(self, text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
        """Return a part of a text around what was found, with the ranges of what was found in it."""
        folded, places = fold(text)
        positive = [term for term in self.terms if not term.without]
        spans = sorted(match.span() for term in positive for match in term.pattern.finditer(folded))
        spans = [(places[start], places[end]) for start, end in spans if end > start]
        start = max(0, spans[0][0] - _AROUND) if spans else 0
        if start:
            # Do not begin inside a word if it ends soon.
            space = text.find(" ", start, start + _AROUND // 3)
            start = start if space < 0 else space + 1
        end = min(len(text), start + _SNIPPET)
        before, after = "…" if start else "", "…" if end < len(text) else ""
        marks: list[tuple[int, int]] = []
        for first, last in spans:
            if first < end:
                marks.append((first - start + len(before), min(last, end) - start + len(before)))
        return before + text[start:end] + after, _disjoint(marks)


def fold(text: str) -> tuple[str, Sequence[int]]:
    """Return a text without case, and for each place in it (and its end) the place in the original."""
    folded = text.casefold()
    if text.isascii() or (len(folded) == len(text) and all(len(letter.casefold()) == 1 for letter in text)):
        return folded, range(len(text) + 1)
    places = [place for place, letter in enumerate(text) for _ in letter.casefold()]
    return folded, [*places, len(text)]


def _disjoint(marks: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for first, last in marks:
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def read_query(text: str, places: Iterable[str] = ()) -> SearchQuery:
    """Return the query of a text; `places` are names as after `in:`, in addition. Raises UsageError."""
    if text.count('"') % 2:
        raise UsageError(f'a quotation mark of {text!r} is not closed; write exact words as "two words"')
    terms: list[Term] = []
    chosen, tool = [_place(name) for name in places], ""
    for minus, field, quoted, star, plain in _PART.findall(text):
        value = quoted or plain
        if field and minus:
            raise UsageError(f"-{field}{value} is not possible; only words can be left out: -word")
        if field == "in:":
            chosen += [_place(name) for name in value.split(",")]
        elif field == "tool:":
            if tool:
                raise UsageError("give only one tool: in a query")
            tool = value
        else:
            open_end = bool(star) or (not quoted and value.endswith("*"))
            bare = value if quoted else value.rstrip("*")
            terms.append(_term(bare, value, without=bool(minus), open_end=open_end))
    if not tool and all(term.without for term in terms):
        raise UsageError('give a word to find: words, "exact words", word*; -word only leaves out what others found')
    if len(terms) > _MOST_TERMS:
        raise UsageError(f'a query has at most {_MOST_TERMS} words; give the rarest, or "exact words"')
    where = ALL if not chosen else SaidIn(0)
    for place in chosen:
        where |= place
    if tool:
        where &= SaidIn.CALL | SaidIn.RESULT
        if not where:
            raise UsageError("tool: finds calls and results, so it goes with in:call and in:result only")
    return SearchQuery(tuple(terms), where, tool)


def _place(name: str) -> SaidIn:
    try:
        return PLACES[name.strip().lower()]
    except KeyError:
        raise UsageError(f"there is no place {name!r} to search in; there are {', '.join(PLACES)}") from None


def _term(text: str, given: str, *, without: bool, open_end: bool) -> Term:
    folded = text.casefold()
    words = words_of(folded)
    if not words:
        raise UsageError(f"{given!r} has no letter or digit; the index knows words, so give one next to it in quotes")
    last = words[-1]
    # Letters that are words of their own have no beginning; after other signs nothing goes on.
    open_end = open_end and folded.endswith(last) and not is_alone(last[0]) and len(last) < LONGEST
    if open_end and len(last) < 2:
        raise UsageError(f"{given!r} is too short; give at least two letters before the *")
    exact = words == [folded] and len(last) < LONGEST
    return Term(tuple(words), bounded(folded, open_end=open_end), exact=exact, open_end=open_end, without=without)


class Occurrence(NamedTuple):
    """Where a query was found in an episode: place, event, step, a part of the text, and ranges in it."""

    said: SaidIn
    seq: int
    step: int
    snippet: str
    marks: tuple[tuple[int, int], ...]
