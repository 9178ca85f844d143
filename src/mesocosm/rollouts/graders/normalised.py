"""Grade an answer that must equal the label except for case, punctuation, articles and space; measure shared words.

Normal form and F1 after SQuAD (Rajpurkar et al. 2016, EMNLP, section 6.1), on Unicode's compatibility form (NFKC).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from mesocosm.core.conclusion import unwrapped
from mesocosm.rollouts.graders.answer import AnswerConfig, extract, labels
from mesocosm.rollouts.graders.ready import NOTHING, GraderVerdict, RuleGrader

_ARTICLE = re.compile(r"\b(?:a(?= +[^ ])|an|the)\b")
"""At the end "a" is a letter: vitamin A."""
_MEANT = re.compile(
    r"(?<![\w.)\]])[-−](?=[$€£¥]?\.?\d)|(?<![\w.])\.(?=\d)|(?<=\b[a-z])(?:\+\+?|#|[-−](?=\W*$))(?!\w)", re.IGNORECASE
)
"""Marks that are no punctuation: sign and point of -5 and .5, and what stands behind the letter of A-, C++ and F#."""


class NormalisedConfig(AnswerConfig):
    """Options of the grader `normalised`.

    `articles`, `punctuation`, `accents`, `case`: whether they matter. `reward`: equality, or F1 over words, which
    rewards answers in part that share words with the label.
    """

    name: str = "normalised"
    articles: bool = False
    punctuation: bool = False
    accents: bool = True
    case: bool = False
    reward: Literal["exact", "f1"] = "exact"


class NormalisedRule:
    """Grade 1 if the normal forms are equal, else 0; the score `f1` measures their shared words."""

    def __init__(self, config: NormalisedConfig | None = None) -> None:
        self.config: NormalisedConfig = config or NormalisedConfig()

    def grade(self, reply: str, label: str | None, metadata: Mapping[str, Any] | None = None) -> GraderVerdict:
        """Return the verdict on a reply. Raises MissingLabel."""
        right = [self.normal(text) for text in labels(label, metadata, self.config)]
        answer = self.normal(unwrapped(extract(reply, self.config)))
        if not answer:
            return GraderVerdict(0.0, {"f1": 0.0}, NOTHING)
        overlap = max(f1(answer, text) for text in right)
        equal = answer in right
        explanation = "" if equal else f"{answer!r:.200} is not {right[0]!r:.200}"
        return GraderVerdict(overlap if self.config.reward == "f1" else float(equal), {"f1": overlap}, explanation)

    def normal(self, text: str) -> str:
        """Return the normal form of a text; a text of only punctuation and articles keeps them."""
        whole = unicodedata.normalize("NFKC", text)
        whole = whole if self.config.case else whole.casefold()
        if not self.config.accents:
            parts = unicodedata.normalize("NFD", whole)
            whole = "".join(letter for letter in parts if not unicodedata.combining(letter))
        bare = whole
        if not self.config.punctuation:
            meant = {place for found in _MEANT.finditer(whole) for place in range(*found.span())}
            bare = "".join(
                " " if unicodedata.category(letter)[0] in "PS" and place not in meant else letter
                for place, letter in enumerate(whole.replace("−", "-"))
            )
        if not self.config.articles:
            bare = _ARTICLE.sub(" ", bare)
        return " ".join(bare.split()) or " ".join(whole.split())


def f1(answer: str, right: str) -> float:
    """Return the harmonic mean of precision and recall over words, counting repetitions."""
    given, wanted = Counter(answer.split()), Counter(right.split())
    shared = (given & wanted).total()
    return 2 * shared / (given.total() + wanted.total()) if shared else 0.0


class NormalisedGrader(RuleGrader[NormalisedConfig]):
    """The rule as an SDK grader."""

    Config: ClassVar[type[NormalisedConfig]] = NormalisedConfig
    Rule = NormalisedRule
