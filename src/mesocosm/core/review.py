"""Reviews: what people say of episodes, and rounds in which they do so."""

from typing import Literal, get_args

import msgspec

from mesocosm.core.failure import UsageError
from mesocosm.core.redact import Redactor

Answer = Literal["", "right", "wrong", "faulty", "unsure"]
"""What a person says of an answer; `faulty`: the question or its key is, `unsure`: they cannot tell, empty: nothing."""

GraderVerdict = Literal["", "right", "wrong", "unsure"]
"""What a person says of the grader; empty: nothing."""

LabelKind = Literal["choice", "flag", "number"]
Required = Literal["never", "always", "wrong"]
"""When a label must be given; `wrong`: if the answer is wrong."""
Order = Literal["drawn", "disputed"]
LabelValue = str | bool | float

ANSWERS: tuple[Answer, ...] = tuple(answer for answer in get_args(Answer) if answer)
RESERVED_KEYS = frozenset({*"1234", ".", "m", "s", "u", "h", "?", "Enter"})
"""Keys of the page that labels cannot have."""

FIT_BAR = 0.6
"""The lower end of kappa from which a judge may judge alone."""

LONGEST_NOTE = 10_000
MOST_LABELS = 50
LONGEST_LABEL = 200


class LabelOption(msgspec.Struct, frozen=True, omit_defaults=True):
    """One option of a choice."""

    value: str
    title: str = ""
    key: str = ""


class AskedLabel(msgspec.Struct, frozen=True, omit_defaults=True):
    """A label that reviewers give: one of several options, a flag, or a number."""

    name: str
    kind: LabelKind = "flag"
    title: str = ""
    options: tuple[LabelOption, ...] = ()
    key: str = ""
    required: Required = "never"
    low: float | None = None
    high: float | None = None

    def check(self, value: LabelValue) -> LabelValue:
        """Return a value of this label. Raises UsageError if it is of another kind or no option."""
        if self.kind == "flag" and isinstance(value, bool):
            return value
        if self.kind == "choice" and value in {option.value for option in self.options}:
            return value
        if self.kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
            below, above = self.low is not None and value < self.low, self.high is not None and value > self.high
            if value == value and not below and not above:  # noqa: PLR0124 - not NaN
                return float(value)
        wanted = {
            "flag": "true or false",
            "choice": "one of " + ", ".join(option.value for option in self.options),
            "number": f"a number from {_end(self.low, '-∞')} to {_end(self.high, '∞')}",
        }[self.kind]
        raise UsageError(f"label {self.name!r} cannot be {value!r}; give {wanted}")


def _end(end: float | None, unbounded: str) -> str:
    return unbounded if end is None else f"{end:g}"


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """A review round: a set of episodes that people judge.

    Each episode needs `reviews` verdicts. `drawn` says in words which episodes they are, `random` whether they stand
    for all episodes of the runs: all of them, or drawn from them without a filter. A `blind` round hides model, grader
    and other people's verdicts from those who have yet to judge. `bar` is the lower end of kappa from which a judge is
    fit. Times are UNIX seconds; `created_by` is an author as in `Verdict`.
    """

    id: str
    name: str
    created_at: float = 0.0
    created_by: str = ""
    created_by_name: str = ""
    closed_at: float | None = None
    runs: tuple[str, ...] = ()
    drawn: str = ""
    random: bool = False
    seed: int = 0
    order: Order = "drawn"
    reviews: int = 2
    labels: tuple[AskedLabel, ...] = ()
    guide: dict[str, str] = {}
    blind: bool = True
    bar: float = FIT_BAR

    def checked(self) -> "Round":
        """Return the round. Raises UsageError if its labels are ambiguous or cannot be given."""
        names = [label.name for label in self.labels]
        keys = [key for label in self.labels for key in (label.key, *(option.key for option in label.options)) if key]
        for words in (names, keys):
            twice = next((word for word in words if words.count(word) > 1), None)
            if twice is not None:
                what = "name" if words is names else "key"
                raise UsageError(f"two labels of the round have the {what} {twice!r}; give each its own")
        taken = next((key for key in keys if key in RESERVED_KEYS or len(key) != 1), None)
        if taken is not None:
            raise UsageError(f"a label cannot have the key {taken!r}; give a single letter that the page does not use")
        for label in self.labels:
            values = [option.value for option in label.options]
            if label.kind == "choice" and (len(values) < 2 or len(set(values)) < len(values)):
                raise UsageError(f"label {label.name!r} is a choice; give it two or more different options")
        unknown = next((name for name in self.guide if name not in ANSWERS), None)
        if unknown is not None:
            raise UsageError(f"the guide explains {unknown!r}, which is no answer; there are {', '.join(ANSWERS)}")
        return self

    def judged(self, verdict: "Verdict") -> "Verdict":
        """Return a verdict with the values of this round's labels. Raises UsageError if it says too little, or else."""
        if not verdict.answer:
            raise UsageError(f"a verdict says of the answer one of {', '.join(ANSWERS)}")
        known = {label.name: label for label in self.labels}
        unknown = next((name for name in verdict.labels if name not in known), None)
        if unknown is not None:
            raise UsageError(f"round {self.id} has no label {unknown!r}; it has {', '.join(known) or 'none'}")
        for label in self.labels:
            needed = label.required == "always" or (label.required == "wrong" and verdict.answer == "wrong")
            if needed and label.name not in verdict.labels:
                raise UsageError(f"label {label.name!r} is required for a verdict of {verdict.answer!r}; give it")
        labels = {name: known[name].check(value) for name, value in verdict.labels.items()}
        return msgspec.structs.replace(verdict, labels=labels)


class RoundItem(msgspec.Struct, frozen=True):
    """An episode of a round; `number` counts from 1."""

    round_id: str
    number: int
    run_id: str
    episode_id: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What one person says of an episode at one time.

    A later verdict of the same author, in the same round or outside of rounds (`round_id` empty), replaces an earlier
    one (`replaces`), which stays in the history; one that is `withdrawn` says nothing any more. `answer` is about the
    answer, `grader` about the grader's score. `settles`: it decides an item on which people disagree, and replaces
    only earlier ones that do. `author` is `user:ID` on a server and `person:NAME` on a laptop.
    """

    id: str = ""
    episode_id: str
    run_id: str = ""
    round_id: str = ""
    author: str = ""
    author_name: str = ""
    at: float = 0.0
    answer: Answer = ""
    grader: GraderVerdict = ""
    labels: dict[str, LabelValue] = {}
    note: str = ""
    step: str = ""
    settles: bool = False
    withdrawn: bool = False
    replaces: str = ""

    @property
    def empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.answer or self.grader or self.labels or self.note or self.step)

    def redacted(self) -> "Verdict":
        """Return the verdict without secrets in what a person wrote. Raises UsageError if it is too long."""
        for what, text, longest in (("note", self.note, LONGEST_NOTE), ("step", self.step, LONGEST_NOTE)):
            if len(text) > longest:
                raise UsageError(f"the {what} has {len(text):,} characters; shorten it to {longest:,}")
        if len(self.labels) > MOST_LABELS or any(len(name) > LONGEST_LABEL or not name for name in self.labels):
            raise UsageError(f"give at most {MOST_LABELS} labels of at most {LONGEST_LABEL} characters")
        shown = Redactor().text
        labels = {shown(name): shown(one) if isinstance(one, str) else one for name, one in self.labels.items()}
        return msgspec.structs.replace(self, note=shown(self.note), step=shown(self.step), labels=labels)


def current(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """Return the verdicts that hold, in their order: not replaced by their author, and not withdrawn."""
    replaced = {verdict.replaces for verdict in verdicts}
    return tuple(verdict for verdict in verdicts if verdict.id not in replaced and not verdict.withdrawn)


DEFAULT_LABELS = (
    AskedLabel(
        "cause",
        "choice",
        "What went wrong first?",
        (
            LabelOption("misread", "Misread the question", "q"),
            LabelOption("wrong_step", "Wrong step", "w"),
            LabelOption("left_out", "Left out a step", "e"),
            LabelOption("slip", "Slip of fact or number", "r"),
            LabelOption("stopped_early", "Stopped early", "t"),
            LabelOption("format_only", "Format only", "y"),
        ),
        required="wrong",
    ),
)
"""Labels of a round that names none."""
