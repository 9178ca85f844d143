"""Documents of reviews: rounds, their items, verdicts of people, and agreement."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from mesocosm.server.schemas.document import Document
from mesocosm.server.schemas.episode import EpisodeState
from mesocosm.server.schemas.query import Outcome

AnswerVerdict = Literal["right", "wrong", "faulty", "unsure"]
GraderVerdict = Literal["right", "wrong", "unsure"]
LabelValues = Annotated[dict[str, bool | float | str], Field(max_length=50)]

_ANSWER = "What the person says of the answer; `faulty`: the question or its key is; `unsure`: they cannot tell."
_GRADER = "What the person says of the grader's score."
_STEP = "The step or line that it rests on."
_REVIEWER = (
    "Name of the reviewer, where there are no accounts; empty for the user of this machine. A server with accounts "
    "takes the caller's."
)
ReviewerName = Annotated[str, Field(max_length=100, description=_REVIEWER)]


class _Given(Document):
    """A document that is sent as it is read: what has a default may be left out."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)


class ReviewOption(_Given):
    """One option of a choice."""

    value: str = Field(min_length=1, max_length=100)
    title: str = Field(default="", max_length=200, description="What people read; empty for `value`.")
    key: str = Field(default="", max_length=1, description="Key on the keyboard; empty for none.")


class ReviewLabel(_Given):
    """A label that reviewers give."""

    name: str = Field(min_length=1, max_length=100)
    kind: Literal["choice", "flag", "number"] = "flag"
    title: str = Field(default="", max_length=200, description="What people read; empty for `name`.")
    options: list[ReviewOption] = Field(default=[], max_length=30, description="Options of a choice.")
    key: str = Field(default="", max_length=1, description="Key of a flag or a number; empty for none.")
    required: Literal["never", "always", "wrong"] = Field(
        "never", description="Whether it must be given; `wrong`: if the answer is wrong."
    )
    low: float | None = Field(default=None, description="Least number.")
    high: float | None = Field(default=None, description="Greatest number.")


class ReviewFilter(BaseModel):
    """Which episodes of the runs, as in lists of episodes."""

    model_config = ConfigDict(extra="forbid")

    state: list[EpisodeState] = []
    cause: list[str] = []
    outcome: Outcome = ""
    low: float | None = Field(default=None, allow_inf_nan=False)
    high: float | None = Field(default=None, allow_inf_nan=False)
    label: str = Field(default="", max_length=1_000, description="Label of the task and its value.")
    q: str = Field(default="", max_length=1_000, description="Text as in lists of episodes.")


class RoundInput(BaseModel):
    """A review round to create."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"runs": ["019a…"], "sample": 40, "reviews": 3}]}
    )

    name: str = Field(default="", max_length=200, description="Name; empty for one that says what is reviewed.")
    runs: list[str] = Field(min_length=1, max_length=50, description="IDs of the runs.")
    filter: ReviewFilter = ReviewFilter()
    sample: int | None = Field(
        default=None, ge=1, le=10_000, description="Episodes drawn at random; null for all that match."
    )
    seed: int = Field(default=0, ge=0, lt=2**63, description="Seed of the drawing.")
    order: Literal["drawn", "disputed"] = Field(
        "drawn", description="`disputed`: first those on which graders, or people who judged before, disagree."
    )
    reviews: int = Field(default=2, ge=1, le=20, description="Verdicts that each episode needs.")
    labels: list[ReviewLabel] | None = Field(default=None, max_length=20, description="Null for what went wrong first.")
    guide: dict[AnswerVerdict, Annotated[str, Field(max_length=1_000)]] = Field(
        {}, description="What each verdict means in this round."
    )
    blind: bool = Field(
        default=True, description="Hide model, grader and the verdicts of others from those who have yet to judge."
    )
    bar: float = Field(
        default=0.6, ge=-1, le=1, description="Lower end of kappa from which a judge is fit to judge alone."
    )
    reviewer: ReviewerName = ""


class RoundChange(BaseModel):
    """Changes of a round; fields that are left out remain unchanged."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"closed": True}]})

    name: str | None = Field(default=None, min_length=1, max_length=200)
    closed: bool | None = Field(default=None, description="Whether no more verdicts are taken.")


class ReviewerProgress(Document):
    """How many items of a round a person has judged."""

    name: str
    done: int


class RoundDocument(Document):
    """A review round."""

    id: str
    name: str
    created_at: datetime
    created_by: str
    closed_at: datetime | None
    runs: Sequence[str] = Field(description="IDs of the runs; empty for who has yet to judge in a blind round.")
    drawn: str = Field(description="In words, which episodes were drawn.")
    random: bool = Field(description="Whether they are all episodes of the runs, or drawn from all of them at random.")
    order: Literal["drawn", "disputed"]
    seed: str = Field(description="As a string: numbers in JavaScript have 53 bits.")
    reviews: int = Field(description="Verdicts that each episode needs.")
    labels: Sequence[ReviewLabel]
    guide: dict[str, str]
    blind: bool
    bar: float
    items: int = Field(description="Number of episodes.")
    done: int = Field(description="Verdicts so far, of `items` × `reviews`.")
    complete: int = Field(description="Episodes with all their verdicts.")
    mine: int = Field(description="Episodes that the caller has judged.")
    people: Sequence[ReviewerProgress]
    may_judge: bool
    may_change: bool


class RoundList(Document):
    """Review rounds, the newest first, and the name under which the caller reviews."""

    items: Sequence[RoundDocument]
    reviewer: "Reviewer"


class Reviewer(Document):
    """Who reviews. A name can be changed only where there are no accounts."""

    name: str
    changeable: bool


class ReviewLine(Document):
    """A part of what was said and done in an episode."""

    role: str = Field(description="`system`, `user`, `assistant`, `tool`, `observation`, `action` or `result`.")
    step: int
    text: str
    cut: bool = Field(description="Whether the text is longer.")


class ReviewItem(Document):
    """An episode as reviewers see it: without its model, its grader, and its place in the run."""

    number: int
    question: str
    expected: str | None = Field(description="Null if it was not recorded.")
    given: str | None = Field(description="Null if it was not recorded.")
    reference: str | None = Field(description="A worked solution; null if the task has none.")
    lines: Sequence[ReviewLine]
    more: bool = Field(description="Whether the episode goes on.")
    verdicts: Sequence["VerdictDocument"] = Field(description="Verdicts that the caller may see: at least their own.")
    episode_id: str | None = Field(description="Null while that would tell the model.")


class ReviewTurn(Document):
    """What the caller judges next."""

    round: RoundDocument
    item: ReviewItem | None = Field(description="Null if nothing is left for the caller.")
    with_others: int = Field(description="Episodes that still need verdicts, and that others have before them.")


class VerdictInput(BaseModel):
    """What a person says of an episode."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"answer": "wrong", "labels": {"cause": "misread"}}]}
    )

    answer: AnswerVerdict | None = Field(default=None, description=_ANSWER)
    grader: GraderVerdict | None = Field(default=None, description=_GRADER)
    labels: LabelValues = {}
    note: str = Field(default="", max_length=10_000)
    step: str = Field(default="", max_length=10_000, description=_STEP)
    settles: bool = Field(default=False, description="Decide an episode on which others disagree.")
    after: str | None = Field(
        None, max_length=100, description="ID of the caller's last verdict; 409 if there is a later one."
    )
    reviewer: ReviewerName = ""


class VerdictDocument(Document):
    """What a person said of an episode at one time."""

    id: str
    round_id: str | None
    round_name: str
    author: str
    mine: bool
    at: datetime
    answer: AnswerVerdict | None = Field(description=_ANSWER)
    grader: GraderVerdict | None = Field(description=_GRADER)
    labels: LabelValues
    note: str
    step: str = Field(description=_STEP)
    settles: bool
    withdrawn: bool = Field(description="Whether it takes back the author's earlier verdict.")
    current: bool = Field(description="Whether it holds: its author has not replaced it, or taken it back.")


class GraderWord(Document):
    """What a grader says of an episode; `passed` is null if its score says neither right nor wrong."""

    name: str
    primary: bool
    passed: bool | None
    value: float | None
    explanation: str


class SavedVerdict(Document):
    """A verdict that was saved, with what was hidden before."""

    verdict: VerdictDocument
    graders: Sequence[GraderWord]


class EpisodeVerdicts(Document):
    """All verdicts on an episode that the caller may see, the oldest first."""

    items: Sequence[VerdictDocument]
    hidden: int = Field(description="Verdicts of blind rounds that are shown when the episode has all of them.")
    mine: VerdictDocument | None = Field(description="The caller's last verdict outside of rounds that holds.")
    last: str = Field(description="ID of the caller's last verdict outside of rounds, to send as `after`.")
    labels: Sequence[str] = Field(description="Labels in use in the run, the most frequent first.")
    graders: Sequence[GraderWord]
    reviewer: Reviewer
    may_judge: bool


class IntervalDocument(Document):
    """A number with its 95 % interval; a bound is null if it is not known."""

    value: float
    low: float | None
    high: float | None
    weak: bool = Field(default=False, description="Whether the interval rests on few values.")
    n: int
    method: str


class PairDocument(Document):
    """Agreement of two sides; `kappa` is null, and `why` says so, where it does not exist."""

    one: str
    other: str
    n: int = Field(description="Episodes that both judged.")
    observed: float | None = Field(description="Share of equal judgements.")
    kappa: IntervalDocument | None
    why: str


class ConfusionDocument(Document):
    """How often a grader and people say right or wrong of the same episodes; the grader's word comes first."""

    right_right: int
    right_wrong: int
    wrong_right: int
    wrong_wrong: int


class JudgeDocument(Document):
    """A grader or judge against the word of the people."""

    pair: PairDocument
    primary: bool
    fit: bool = Field(description="Whether the lower end of kappa is at the bar of the round.")
    verdict: str = Field(description="The same in words, with the reason.")
    confusion: ConfusionDocument
    sensitivity: IntervalDocument | None = Field(description="Of what people call right, the share it calls right.")
    specificity: IntervalDocument | None = Field(description="Of what people call wrong, the share it calls wrong.")
    bias: IntervalDocument | None = Field(description="Its share of right minus that of people.")
    rate: float | None = Field(description="Its share of right over all episodes of the runs.")
    corrected: IntervalDocument | None = Field(description="What people would call right of all episodes of the runs.")
    uncorrected: str = Field(description="Why `corrected` is null.")


class AgreementItem(Document):
    """An episode with what was said of it. `called` is the word of the people: settled, else of the majority."""

    number: int
    question: str
    expected: str | None
    given: str | None
    verdicts: Sequence[VerdictDocument]
    called: AnswerVerdict | None
    settled: bool
    disputed: bool
    graders: dict[str, bool]
    against: Sequence[str] = Field(description="Graders that say the opposite of the people.")
    episode_id: str | None = Field(description="Null while that would tell the model.")


class AgreementDocument(Document):
    """Agreement in a round: between people, and of people with graders and judges; disputed episodes first.

    While a blind round is open, it is over the episodes that have all their verdicts.
    """

    round: RoundDocument
    over: int = Field(description="Number of episodes that it is over.")
    alpha: IntervalDocument | None = Field(description="Krippendorff's alpha over all people.")
    pairs: Sequence[PairDocument]
    judges: Sequence[JudgeDocument]
    items: Sequence[AgreementItem]


class HumanScores(Document):
    """Verdicts that were taken as scores: the metric `human` of each run."""

    runs: Sequence["HumanScore"]


class HumanScore(Document):
    """The metric `human` of a run."""

    run_id: str
    value: float | None
    low: float | None
    high: float | None
    n: int
