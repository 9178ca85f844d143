"""Find the option that a reply chooses, by its letter or by its text.

The last statement counts (`Answer: C`, "the answer is C", "I choose C", `\\boxed{C}`, "C is correct"), and only if it
names a single option; a reply with statements for more than two chooses none. Without any statement the last sentence
must come to an option, or exactly one line must be one. The article "A" and the pronoun "I" are no letters: the word
must end the statement, be marked, or not be followed by a noun. Uses the standard library only, as `conclusion` does.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mesocosm.core.conclusion import (
    Claim,
    claim_at,
    claims,
    document_claim,
    first_sentence,
    last_sentence,
    readable,
    stated,
)

_MOST_STATED = 2
_MOST_LOOKED_AT = 64
_CHOOSES = re.compile(
    r"\bI(?:['’]m|[ \t]am)[ \t]going[ \t](?:with|for)\b"
    r"|\b(?:I|we)(?:[ \t](?:would|will|shall)|['’](?:d|ll))?"
    r"[ \t](?:choose|pick|select|say|answer|go[ \t](?:with|for))\b"
    r"|^\W{0,4}(?:my[ \t])?(?:conclusion|verdict|result|solution|final|pick)[ \t]?:"
    r"|\bcorrect[ \t]?:|\blet['’]s[ \t]go[ \t]with\b|故?[选選][择擇]?[：:]?",
    re.IGNORECASE | re.MULTILINE,
)
_IT_IS = re.compile(r"^(?:(?:so|therefore|thus|hence),? )?(?:it|that)(?:['’]s| is| must be| has to be) ", re.IGNORECASE)
_IS_IT = re.compile(r" is (?:the )?(?:correct |right |best )?(?:answer|option|choice|correct|right)$", re.IGNORECASE)
_NO_OPTION = re.compile(
    r"\b(?:figure|table|vitamin|grade|plan|group|type|section|part|class|hepatitis|level|point|step) \(?[A-Z]\b\)?",
    re.IGNORECASE,
)
_LEAD = (
    r"(?:[\W_]|\b(?:so|thus|therefore|hence|and|or rather|it|that|this|which|they|is|would|must|be|the|my|its?|['’]s|s"
    r"|option|choice|letter|alternative|answer|final|correct|right|best|because|leaves?|only|as|has|to|richtig|ist)\b){0,12}"
)


@dataclass(frozen=True, slots=True)
class StatedOption:
    """The letter that a reply chooses, or None with the reason why it chooses none."""

    letter: str | None
    reason: str = ""


class _Shapes:
    """Expressions that depend on the set of letters."""

    def __init__(self, letters: str) -> None:
        some, small = f"[{letters}]", f"[{letters.lower()}]"
        others = f"[{letters.replace('A', '').replace('I', '')}]" if letters.strip("AI") else "(?!)"
        words = [letter for letter in "AI" if letter in letters]
        ends = r"(?![A-Za-z0-9+#°]|['’]\w)(?!-\w)(?![ \t](?:minus|plus)\b)"
        # "A" and "I" are also words: they count only if no noun or verb follows.
        joined = r"(?!\s+(?!because|since|as|and|or|with|for|which|but|is|ist|est|es|é)[a-z])"
        doubtful = f"|[{''.join(words)}]{ends}{joined}" if words else ""
        self.capital = re.compile(rf"(?<![A-Za-z0-9'’°])(?<!° )(?:{others}{ends}{doubtful})")
        self.marked = re.compile(rf"^\W{{0,20}}({small})(?=[).:\]*}}]|\s*$)|\(({small})\)")
        self.alone = re.compile(rf"\W{{0,20}}({some}|{small})\W{{0,20}}")
        self.pair = re.compile(rf"\W{{0,9}}({some}|{small})[\W_]{{1,9}}([^\n]{{1,300}})")
        behind = (
            r"[\s_)\]}>\"'`$.,:✅]{0,20}$|[)\].:][\s_]{0,20}\S|[ \t][-–—][ \t]|,?[ \t](?:because|since|as)\b"
            r"|[ \t]\([^()\n]{2,80}\)"
        )
        self.line = re.compile(
            rf"^[\s_>#(\[{{<\"'`$→✅-]{{0,20}}(?:\d[.)][ \t])?\(?({some})(?:{behind})",
            re.MULTILINE,
        )
        verdicts = (
            r"(?:is|(?:would|must|should|has to|seems to) be|ist|est|es|é|è)[ \t]"
            r"(?:(?:therefore|thus|hence)[ \t])?(?:the[ \t])?(?:only[ \t])?"
            r"(?:correct|right|best|answer|richtig|correcte?|correcta|correta)\b"
        )
        self.named = re.compile(rf"(?<![A-Za-z0-9'’])\(?({some})\)?[ \t]{verdicts}")
        self.led = re.compile(rf"{_LEAD}\b({some})\b(?![+#°'’]|-\w)", re.IGNORECASE)
        self.option = re.compile(
            rf"\b(?:option|choice|letter|answer|alternative)[ \t]\(?({some}|{small}(?=\)|\W*$))\b\)?", re.IGNORECASE
        )
        self.ended = re.compile(rf"(?:\bso|[(=:→])[ \t]?\(?({some})\)?[^\w+#°]{{0,9}}$")


@lru_cache(maxsize=64)
def _shapes(letters: str) -> _Shapes:
    return _Shapes(letters)


def chosen_option(reply: str, letters: str, texts: Sequence[str] = (), *, marked: bool = False) -> StatedOption:
    """Return the option that a reply chooses; `texts` are the options' own, `marked` is for an extracted answer."""
    return _reader(letters, tuple(texts)).chosen(reply, marked=marked)


@lru_cache(maxsize=64)
def _reader(letters: str, texts: tuple[str, ...]) -> "_Reader":
    return _Reader(letters, texts)


_HINTS = (
    *("choose", "pick", "select", " say ", "answer", "go with", "go for", "going ", "correct", "选", "選"),
    *("conclusion", "verdict", "result", "solution", "final"),
)
"""One of them stands in everything that `_CHOOSES` finds, which takes much longer to look."""


def _says_choice(text: str) -> bool:
    lower = text.lower()
    return any(hint in lower for hint in _HINTS)


class _Reader:
    """Reads the replies to one question."""

    def __init__(self, letters: str, texts: Sequence[str]) -> None:
        self._letters = letters
        self._shapes = _shapes(letters)
        self._texts = [_plain(text) for text in texts]
        self._longest = max(map(len, texts), default=0) + 50

    def chosen(self, reply: str, *, marked: bool) -> StatedOption:
        text = readable(reply)
        if len(text) < 400 and (whole := self._whole(text)) is not None:
            return whole
        document = document_claim(text)
        if document is not None:
            return self._told(document)
        if marked:
            return self._told(stated(text))
        found = [*claims(text, options=True, marks=_CHOOSES if _says_choice(text) else None), *self._verdicts(text)]
        found.sort(key=lambda claim: claim.start)
        named = [(claim, self._named(claim.text)) for claim in found]
        read = [(claim, letters) for claim, letters in named if letters]
        plain = [(claim, letters) for claim, letters in read if not claim.doubt]
        if plain:
            several = len(set().union(*(letters for _, letters in plain))) > _MOST_STATED
            return StatedOption(None, "it states several options") if several else self._settled(plain[-1], text)
        if read:
            return StatedOption(None, f"what it states is doubtful: {read[-1][0].doubt!r}")
        return self._concluded(text)

    def _whole(self, text: str) -> StatedOption | None:
        """Return what a reply of nothing but an option chooses."""
        alone = self._shapes.alone.fullmatch(text) if len(text) < 50 else None
        place = self._words(text)
        if alone is not None:
            if text.rstrip().endswith(("?", "？")):
                return StatedOption(None, "it asks")
            if "+" in text or "#" in text.strip("# \n") or "°" in text:
                return None
            # A letter that is also the text of another option is ambiguous.
            letter = alone[1].upper()
            return (
                StatedOption(letter)
                if place in (None, letter)
                else StatedOption(None, "its letter is another option's text")
            )
        if place is None and (hit := self._shapes.pair.fullmatch(text)) and self._words(hit[2]) == hit[1].upper():
            place = hit[1].upper()
        return None if place is None else StatedOption(place)

    def _words(self, text: str) -> str | None:
        """Return the letter of the one option with exactly this text, or None."""
        if not self._texts or len(text) > self._longest:
            return None
        plain = _plain(text)
        places = [place for place, option in enumerate(self._texts) if option and option == plain]
        return self._letters[places[0]] if len(places) == 1 else None

    def _told(self, claim: Claim) -> StatedOption:
        if claim.doubt:
            return StatedOption(None, claim.doubt)
        return _single(self._named(claim.text))

    def _verdicts(self, text: str) -> Iterator[Claim]:
        for hit in deque(self._shapes.named.finditer(text), _MOST_LOOKED_AT):
            if not _NO_OPTION.search(text, max(hit.start() - 12, 0), hit.end(1)):
                yield claim_at(text, hit.start(), hit[1], hit.end())

    def _concluded(self, text: str) -> StatedOption:
        """Return the option of the last sentence, else of the one line that is an option."""
        lines = {found[1] for found in self._shapes.line.finditer(text)}
        claim = last_sentence(text)
        if not claim.doubt and len(lines) <= 1:
            said = claim.text.strip()
            if not lines and (place := self._words(_IS_IT.sub("", _IT_IS.sub("", said)))) is not None:
                return StatedOption(place)
            led = self._shapes.led.match(said)
            names = self._named(said)
            if led is not None and led[1].isupper() and names == {led[1]}:
                rest = said[led.end() :]
                if not rest.strip(" )].:*_\"'") or self._tail(rest):
                    return self._agreed(led[1], said, led.end())
            for shape in (self._shapes.option, self._shapes.ended):
                hits = {found[1].upper() for found in shape.finditer(said)}
                if len(hits) == 1 and names <= hits:
                    return StatedOption(hits.pop())
        if len(lines) == 1:
            hit = next(self._shapes.line.finditer(text))
            said = first_sentence(text[hit.start(1) : hit.end() + 200])
            line = claim_at(text, hit.start(1), said, hit.start(1) + len(said))
            if line.doubt or not self._named(line.text) <= {hit[1]}:
                return StatedOption(None, line.doubt or "its line names several options")
            return self._agreed(hit[1], text, hit.end(1))
        if len(lines) > 1:
            return StatedOption(None, "it lists several options")
        return StatedOption(None, claim.doubt or "no single option is chosen")

    def _settled(self, read: tuple[Claim, set[str]], text: str) -> StatedOption:
        claim, letters = read
        if len(letters) > 1:
            return StatedOption(None, "its statement names several options")
        letter = next(iter(letters))
        said = self._words(re.sub(rf"\(?\b{letter}\b\)?", " ", claim.text))
        if said not in (None, letter):
            return StatedOption(None, f"the text beside {letter} is that of {said}")
        place = text.find(letter, claim.end - len(claim.text) - 1)
        return StatedOption(letter) if place < 0 else self._agreed(letter, text, place + 1)

    def _agreed(self, letter: str, text: str, end: int) -> StatedOption:
        """Return a letter, unless the text of another option stands behind it."""
        rest = text[end : end + 200].partition("\n")[0].strip(" \t).:]}_-–—(,$")
        said = self._words(rest)
        if said not in (None, letter):
            return StatedOption(None, f"the text behind {letter} is that of {said}")
        return StatedOption(letter)

    def _tail(self, rest: str) -> bool:
        """Return whether an option's text follows its letter, or a reason."""
        bare = rest.strip()
        return bool(re.match(r"[).\]:,(–—-]|because\b|since\b|as\b|it is$", bare))

    def _named(self, statement: str) -> set[str]:
        if (place := self._words(statement)) is not None:
            return {place}
        text = _NO_OPTION.sub(" ", statement)
        found = set(self._shapes.capital.findall(text))
        return found or {letter.upper() for pair in self._shapes.marked.findall(text) for letter in pair if letter}


def _plain(text: str) -> str:
    return " ".join(text.casefold().strip(" \t\n.\"'`*$").split())


def _single(letters: set[str]) -> StatedOption:
    if len(letters) == 1:
        return StatedOption(next(iter(letters)))
    return StatedOption(None, "its statement names several options" if letters else "no single option is chosen")
