"""The long text: filler of the requested length, with the facts inserted."""

from dataclasses import dataclass
from random import Random

from mesocosm.benchmarks.builtin.context_bench.prose import paragraph_size, sentences
from mesocosm.benchmarks.builtin.context_bench.puzzle import FAMILIES, Puzzle

CHARACTERS_PER_TOKEN = 4
"""Estimate for English prose; current tokenizers differ from it by about 15 per cent."""
POSITIONS = {"start": 0.0, "early": 0.25, "middle": 0.5, "late": 0.75, "end": 1.0}
"""Share of the context before the fact; for any other name the share is random."""


NEAR = 4
"""Number of other codes that are placed beside the right one."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parameters of one task; `tokens` is the requested length of the context."""

    family: str
    tokens: int
    position: str
    number: int
    seed: int

    def _rng(self, purpose: str) -> Random:
        return Random(f"{self.seed}/{self.family}/{self.tokens}/{self.position}/{self.number}/{purpose}")

    def puzzle(self) -> Puzzle:
        """Return facts, question and answer."""
        return FAMILIES[self.family](self._rng("puzzle"))

    def context(self) -> str:
        """Return the text, including facts; its length is within one sentence of the requested one."""
        puzzle, rng = self.puzzle(), self._rng("context")
        rivals = rng.sample(puzzle.rivals, len(puzzle.rivals))
        facts = [puzzle.facts[-1], *rivals, *puzzle.facts[:-1], *puzzle.distractors]
        room = self.tokens * CHARACTERS_PER_TOKEN - sum(len(fact) + 1 for fact in facts)
        filler = _filler(room, rng)
        return _paragraphs(_woven(filler, facts, self._places(len(filler), len(facts), rng), rng), rng)

    def _places(self, size: int, facts: int, rng: Random) -> list[int]:
        """Return the filler index before which each fact is inserted: the answer and `NEAR` rivals, then the others.

        The answer and these rivals are placed together and in the same way. Knowing the position of the answer, or
        finding the place with most codes, still leaves a choice between them.
        """
        depth = POSITIONS.get(self.position)
        middle = rng.randint(0, size) if depth is None else round(depth * size)
        near = [min(max(middle + rng.randint(-1, 1), 0), size) for _ in range(1 + NEAR)]
        return [*near, *(rng.randint(0, size) for _ in range(facts - len(near)))]


def _filler(room: int, rng: Random) -> list[str]:
    found: list[str] = []
    for sentence in sentences(rng):
        room -= len(sentence) + 1
        if room < 0:
            break
        found.append(sentence)
    return found


def _woven(filler: list[str], facts: list[str], places: list[int], rng: Random) -> list[str]:
    before: dict[int, list[str]] = {}
    for fact, place in zip(facts, places, strict=True):
        before.setdefault(place, []).append(fact)
    woven: list[str] = []
    for place in range(len(filler) + 1):
        here = before.get(place, [])
        woven += rng.sample(here, len(here))
        woven += filler[place : place + 1]
    return woven


def _paragraphs(lines: list[str], rng: Random) -> str:
    paragraphs: list[str] = []
    at = 0
    while at < len(lines):
        size = paragraph_size(rng)
        paragraphs.append(" ".join(lines[at : at + size]))
        at += size
    return "\n\n".join(paragraphs)


def prompt(recipe: Recipe) -> str:
    """Return the whole prompt: the text, the question, and how to answer."""
    return (
        "Read the text and answer the question that follows it.\n\n"
        f"<text>\n{recipe.context()}\n</text>\n\n"
        f"Question: {recipe.puzzle().question}\n"
        "The answer is one code of the form ABCD-1234 from the text. Several codes occur in it; only one is right.\n"
        "Reply with that code and nothing else."
    )
