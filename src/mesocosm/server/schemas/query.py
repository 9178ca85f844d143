"""What lists are asked by: the query parameters of the API."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mesocosm.server.schemas.episode import EpisodeState
from mesocosm.server.schemas.run import State

RunSort = Literal[
    "created_at", "-created_at", "name", "-name", "benchmark", "-benchmark", "model", "-model", "agent", "-agent",
    "state", "-state", "score", "-score", "cost", "-cost",
    "tokens", "-tokens", "duration", "-duration", "attempt", "-attempt", "id", "-id",
]  # fmt: skip
EpisodeSort = Literal[
    "index", "-index", "score", "-score", "reward", "-reward", "steps", "-steps", "tokens", "-tokens",
    "cost", "-cost", "duration", "-duration", "started_at", "-started_at",
]  # fmt: skip
Whose = Literal["", "mine", "team", "public"]
Outcome = Literal["", "pass", "fail", "scored", "worst", "missing", "skipped"]


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RunFilterQuery(_Query):
    """Which runs; of several values of one parameter any will do, but a run must have all of several tags.

    Different parameters must all fit.
    """

    state: list[State] = []
    benchmark: list[str] = []
    model: list[str] = []
    agent: list[str] = []
    kind: list[str] = []
    tag: list[str] = []
    group: list[str] = []
    q: str = Field(
        "", max_length=1_000, description="words that all occur in id, name, benchmark, title, model, agent, tags"
    )


class RunQuery(RunFilterQuery):
    """A page of a list of runs. Runs without the value that is sorted by come last.

    `whose` narrows what is seen of a platform: one's own runs, those of one's teams, public ones. Elsewhere all runs
    are one's own, and it changes nothing.
    """

    whose: Whose = ""
    team: str = Field("", max_length=200, description="runs of this team of the caller")
    environment: str = Field("", max_length=200, description="runs in this submitted environment")
    tests: bool = Field(default=True, description="also test episodes")
    sort: RunSort = "-created_at"
    cursor: str | None = None
    limit: int = Field(100, ge=1, le=1_000)


class EpisodeFilterQuery(_Query):
    """Which episodes of a run, in which order. `low` and `high` bound the primary score, inclusive.

    `pass` is a score above the primary metric's threshold, `fail` one that is not, and the agent's own failures.
    """

    state: list[EpisodeState] = []
    cause: list[str] = []
    outcome: Outcome = ""
    low: float | None = Field(None, allow_inf_nan=False)
    high: float | None = Field(None, allow_inf_nan=False)
    task: str = Field("", description="digest of a task")
    label: str = Field("", max_length=1_000, description="a label of the task with its value: `difficulty=hard`")
    q: str = Field("", max_length=1_000, description="text that occurs in task, failure or last info")
    sort: EpisodeSort = "index"


class EpisodePageQuery(EpisodeFilterQuery):
    """A page of the episodes of a run; `at` begins at a place of the plan instead of a cursor (sorted by index)."""

    cursor: str | None = None
    at: int | None = Field(None, ge=0)
    limit: int = Field(200, ge=1, le=1_000)
    info: bool = Field(default=False, description="also the last info of each episode")


class EventQuery(_Query):
    """Events of an episode from position `from` on, or from the first one of `step` on."""

    start: int = Field(0, ge=0, alias="from")
    step: int | None = Field(None, ge=0, description="begin at this step instead of a position")
    limit: int = Field(200, ge=1, le=1_000)
    kind: list[str] = []
    q: str = Field("", max_length=1_000, description="text that occurs in the event")


class StepQuery(_Query):
    """Steps of an episode from `from` on."""

    start: int = Field(0, ge=0, alias="from")
    limit: int = Field(200, ge=1, le=500)
