"""Documents of episodes and their events."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mesocosm.core.info import View
from mesocosm.core.verdict import Verdict
from mesocosm.server.schemas.document import Document, Json
from mesocosm.server.schemas.metric import ScoreDocument, UsageDocument
from mesocosm.server.schemas.results import PartDocument
from mesocosm.server.schemas.run import ArtifactDocument, RunSummary

EpisodeState = Literal["pending", "running", "completed", "truncated", "timeout", "failed", "cancelled"]


class FailureDocument(Document):
    """Why an episode failed: cause, the boundary it crossed, message, the other side's message, its stderr."""

    cause: str
    boundary: str
    valid: bool = Field(description="Whether the agent caused the failure, which then counts as the worst value.")
    message: str
    detail: str
    stderr: str


class _EpisodeFields(Document):
    id: str
    run_id: str
    index: int
    task_id: str
    task_digest: str
    cluster: str = Field(description="Item of which the task is a variant, counted once in intervals; else empty.")
    trial: int
    seed: str | None = Field(description="As a string: seeds have up to 64 bits, numbers in JavaScript 53.")
    state: EpisodeState
    score: float | None
    scores: list[ScoreDocument]
    failure: FailureDocument | None
    steps: int
    total_reward: float | None
    usage: UsageDocument
    retries: int
    events: int
    started_at: datetime | None
    ended_at: datetime | None
    duration_s: float | None = Field(description="Seconds from start to end; null if it has not started.")
    labels: dict[str, str] = Field(description="Labels of the task, which results can be grouped by.")
    verdict: Verdict | None = Field(
        default=None,
        description="`error`: it could not be measured. Null until it is finished, and for a score that neither passes "
        "nor fails.",
    )
    question: str = Field(default="", description="What the task asks, as one line; empty if it asks nothing in words.")
    expected: str = Field(default="", description="The right answer, as one line; empty if the task has none.")
    given: str = Field(default="", description="The answer that was graded, as one line; empty if there is none.")
    why: str = Field(
        default="", description="Why the primary score is not the best one, in one sentence; empty if it is."
    )
    mistake: str = Field(default="", description="Kind of mistake, the same for like ones; empty if there is none.")
    behaviour: str = Field(
        default="",
        description="`refused`, `empty`, `cut_off`, `looped`, `malformed` or `gave_up`, found by rules; else empty.",
    )


class EpisodeSummary(_EpisodeFields):
    """An episode as a row of a list. `index` is its position in the plan; `score` the value of the primary score."""

    terminal_info: dict[str, Json] | None = Field(
        default=None, description="`info` of the last step; null unless requested with `info`."
    )


class EpisodePage(Document):
    """A page of episodes. A text search may return no items, with a cursor to continue from.

    `total` is exact or, if `total_exact` is false, a lower bound; null if counting would take too long.
    """

    items: list[EpisodeSummary]
    cursor: str | None
    total: int | None
    total_exact: bool


class EpisodeDetail(_EpisodeFields):
    """An episode in full, except its events."""

    terminal_info: dict[str, Json]
    input: Json = Field(default=None, description="What the task asks; null if it is not recorded.")
    target: Json = Field(default=None, description="The right answer; null if the task has none.")
    reference: Json = Field(default=None, description="A worked solution; null if the task has none.")
    answer: Json = Field(default=None, description="The answer that was graded; null if it is not recorded.")
    artifacts: list[ArtifactDocument]
    view: View | None = Field(
        description="How the benchmark wants its observations to be shown; null if as their content suggests."
    )
    run: RunSummary


class TaskAttempt(Document):
    """An episode of a task in one of the runs that play it."""

    episode_id: str
    run_id: str
    run_name: str
    model: str
    agent: str
    trial: int
    verdict: Verdict | None
    score: float | None
    given: str
    why: str
    started_at: datetime | None


class TaskAttempts(Document):
    """The episodes of one task, those of the newest run first; `whole` if no older run was left out.

    `passed` of the `judged` ones passed; built-in agents are not counted.
    """

    items: list[TaskAttempt]
    passed: int
    judged: int
    whole: bool


class TriedDocument(Document):
    """The trials of a task with equal settings: how many of the judged ones passed, and the range of their scores."""

    group: str = Field(description="The same for trials that only chance sets apart; see `TaskTrial.group`.")
    name: str = Field(description="The model, and what sets its settings apart.")
    model: str
    agent: str
    builtin: bool = Field(description="Whether it is a built-in agent: floor or ceiling, and not counted as a model.")
    trials: int
    passed: int
    judged: int
    share: PartDocument | None = Field(description="Share that passed, with its Wilson interval.")
    low: float | None
    high: float | None
    mixed: bool = Field(description="Whether it does not come out the same every time.")
    given: str = Field(description="The most frequent answer; empty if none is recorded.")
    given_by: int


class TaskTrial(TaskAttempt):
    """An episode of the task; `group` is that of the settings it was played with."""

    group: str


class TaskDetail(Document):
    """One task over all models and trials that the caller may see.

    `models` tried it, `solved` of them solve it at least half of the time; of `repeated` settings with several
    trials `mixed` do not come out the same every time. `whole` if no older run was left out.
    """

    benchmark: str
    benchmark_title: str
    task_id: str
    task_digest: str
    labels: dict[str, str]
    question: str
    expected: str
    input: Json = None
    target: Json = None
    reference: Json = None
    standing: Literal["saturated", "unsolved", "disputed", "varies", "untried"] = Field(
        description="`disputed`: none solves it, and most give the same other answer."
    )
    words: str = Field(description="What the trials say of the task, in one sentence.")
    models: int
    solved: int
    repeated: int
    mixed: int
    tried: list[TriedDocument] = Field(description="Models first, then built-in agents; by share.")
    items: list[TaskTrial]
    whole: bool


class Neighbours(Document):
    """The previous and the next episode, under the same filter and order."""

    previous: str | None
    next: str | None


class EventDocument(Document):
    """An event of a trace. Large text is a reference `{"$blob": digest, "bytes": n}` to `/api/blobs/{digest}`."""

    seq: int
    step: int
    at: float = Field(description="UNIX timestamp in seconds.")
    kind: str
    payload: Json = None


class EventPageDocument(Document):
    """Events in order. `next` is the position to continue from (null at the end), `total` the number of all events.

    A filtered request reads a bounded part of the trace; it may return few items and a `next`.
    """

    items: list[EventDocument]
    next: int | None
    total: int


class StepSummary(Document):
    """One step of an episode's outline. Step 0 is before the first action."""

    step: int
    first_event: int
    events: int
    action: str = Field(description="Abridged action; empty for a step without one.")
    reward: float | None
    tokens: int
    latency_s: float | None = Field(description="Seconds spent in model calls; null without a call.")
    errors: int
    warnings: int
    retries: int


class StepPage(Document):
    """Steps in order; `last` is the last step of the episode."""

    items: list[StepSummary]
    next: int | None
    last: int


class WireDocument(Document):
    """A call as it went over the wire, and the same call as a command and as a program, with the key as a variable."""

    path: str
    body: dict[str, Json]
    answer: str = Field(description="The body of the response, as it came.")
    curl: str
    python: str


class AgainInput(BaseModel):
    """What to change in a model call that is asked again; what is left out stays as it was."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"model": "ollama/llama3.2"}]})

    model: str | None = Field(default=None, max_length=300, description="The model to ask: provider/name.")
    system: str | None = Field(default=None, max_length=1_000_000, description="Instead of the system message.")
    prompt: str | None = Field(
        default=None, max_length=1_000_000, description="Instead of the last message of the user."
    )


class AgainDocument(Document):
    """The answer to a model call that was asked again. It is stored nowhere."""

    model: str
    reply: dict[str, Json]
    finish_reason: str
    usage: UsageDocument
    latency_s: float
    same_body: bool | None = Field(description="Whether the body was sent as it was then; null if that is not known.")
    notes: list[str] = Field(
        description="What is odd about the reply: empty, cut off, withheld, of another model, tokens not counted."
    )


class CallDocument(Document):
    """A model call with its messages and its reply."""

    seq: int
    step: int
    model: str
    messages: list[dict[str, Json]]
    reply: dict[str, Json] | None
    payload: dict[str, Json] = Field(description="The recorded event: usage, latency, settings, retries.")
    previous: int | None = Field(
        default=None, description="Position of the call before it in the same role; null if there is none near it."
    )
    wire: WireDocument | None = Field(
        default=None, description="The call as it was sent; null for a model in this process, or one recorded before."
    )
    again: bool = Field(default=False, description="Whether the caller may ask it again.")
