"""Query parameters of the API's lists."""

from typing import Annotated, Literal

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
Whose = Literal["", "mine", "team", "workspace", "public"]
Outcome = Literal["", "pass", "fail", "scored", "worst", "missing", "skipped"]


class Query(BaseModel):
    """Base class of query parameters: unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RunFilterQuery(Query):
    """Filter of runs. A run must match any of several values of a parameter, but have all of several tags.

    All parameters must match.
    """

    state: list[State] = []
    benchmark: list[str] = []
    model: list[str] = []
    agent: list[str] = []
    kind: list[str] = []
    tag: list[str] = []
    group: list[str] = []
    q: str = Field(
        "",
        max_length=1_000,
        description="Words that must all occur in ID, name, benchmark, title, model, agent or tags.",
    )


class RunQuery(RunFilterQuery):
    """A page of a list of runs. Runs without a value in the sort column come last.

    `whose` limits the runs of a server to the caller's own, those of their teams or workspaces, or public ones. On a
    local server all runs are the caller's own, and it has no effect.
    """

    whose: Whose = ""
    team: str = Field("", max_length=200, description="ID of one of the caller's teams: only its runs.")
    environment: str = Field("", max_length=200, description="ID of a submitted environment: only its runs.")
    workspace: str = Field(
        "", max_length=200, description="ID or name of one of the caller's workspaces: only its runs."
    )
    dataset: list[str] = Field([], description="IDs of datasets: only their runs.")
    dataset_version: list[Annotated[int, Field(ge=1, lt=2**31)]] = Field(
        [], description="Versions of datasets: only runs on one of these."
    )
    configuration: list[str] = Field([], description="Paths of configuration files of rollouts: only their runs.")
    branch: list[str] = Field([], description="Branches of the code of rollouts: only their runs.")
    creator: list[str] = Field([], description="User names: only runs that they submitted, and that you see all of.")
    builtin: bool = Field(default=True, description="Include runs of built-in agents: random, empty, oracle.")
    tests: bool = Field(default=True, description="Include test episodes.")
    sort: RunSort = "-created_at"
    cursor: str | None = None
    limit: int = Field(100, ge=1, le=1_000)


class EpisodeFilterQuery(Query):
    """Filter and order of a run's episodes. `low` and `high` bound the primary score, inclusive.

    `pass` is a score above the primary metric's threshold; `fail` is any other score, and the agent's own failures.
    """

    state: list[EpisodeState] = []
    cause: list[str] = []
    outcome: Outcome = ""
    low: float | None = Field(None, allow_inf_nan=False)
    high: float | None = Field(None, allow_inf_nan=False)
    task: str = Field("", description="Digest of a task.")
    label: str = Field("", max_length=1_000, description="Label of the task and its value, such as `difficulty=hard`.")
    mistake: str = Field("", max_length=200, description="Kind of mistake of a wrong answer.")
    behaviour: str = Field("", max_length=50, description="Behaviour of the model, such as `refused` or `cut_off`.")
    q: str = Field(
        "",
        max_length=1_000,
        description="Text that must occur in the task, the failure, or the `info` of the last step.",
    )
    sort: EpisodeSort = "index"


class EpisodePageQuery(EpisodeFilterQuery):
    """A page of the episodes of a run; `at` starts at an index of the plan instead of a cursor (sorted by index)."""

    cursor: str | None = None
    at: int | None = Field(None, ge=0)
    limit: int = Field(200, ge=1, le=1_000)
    info: bool = Field(default=False, description="Include the `info` of the last step of each episode.")


class EventQuery(Query):
    """Events of an episode, starting with position `from`, or with the first event of `step`."""

    start: int = Field(0, ge=0, alias="from")
    step: int | None = Field(None, ge=0, description="Start at this step instead of a position.")
    limit: int = Field(200, ge=1, le=1_000)
    kind: list[str] = []
    q: str = Field("", max_length=1_000, description="Text that must occur in the event.")


class StepQuery(Query):
    """Steps of an episode, starting with `from`."""

    start: int = Field(0, ge=0, alias="from")
    limit: int = Field(200, ge=1, le=500)
