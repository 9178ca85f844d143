"""Requests for runs and test episodes.

Unknown fields are ignored, so that older and newer programs can communicate. Unknown fields of an agent are rejected,
because a caller would expect them to change its behaviour.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from mesocosm.server.schemas.document import Document

Visibility = Literal["private", "gallery_public"]
"""`private`: visible to the owner and their team; `gallery_public`: visible to everyone once the run has finished."""

Seed = Annotated[int, Field(ge=-(2**63), lt=2**64)]

_EXAMPLE: dict[str, Any] = {
    "domain_id": "f0a1c2d3-0000-4000-8000-000000000001",
    "binding_vow_version": "1.0.0",
    "agent_config": {"model": "openai/gpt-4o-mini", "temperature": 0.0, "max_tokens": 1024},
    "num_episodes": 10,
    "max_parallel": 2,
}

_ROLLOUT_EXAMPLE: dict[str, Any] = {
    "kind": "rollout",
    "workspace": "research",
    "configuration": "configs/eval/math.toml",
    "assignments": {"experiment.model_path": "openai/gpt-5-mini"},
    "limit": 100,
}

_BENCHMARK_EXAMPLE: dict[str, Any] = {
    "kind": "benchmark",
    "benchmark": "gsm8k",
    "model": "openai/gpt-5-mini",
    "max_examples": 100,
}


class TechniqueConfig(BaseModel):
    """A technique used in a run, with its parameters."""

    technique_id: str = Field(description="Name of a technique that the domain's binding vow declares.")
    params: dict[str, Any] = Field(default={}, description="Parameters that override those of the vow.")


class AgentConfig(BaseModel):
    """The agent of a run."""

    model: str = Field(description="Name of a model of `GET /api/models`, `provider/name`.")
    system_prompt: str | None = Field(default=None, description="Instructions in addition to those of the environment.")
    techniques: Sequence[TechniqueConfig] = Field(default=[], description="Techniques with custom parameters.")
    temperature: float = Field(default=0.0, description="Sampling temperature.")
    max_tokens: int = Field(default=4096, description="Maximum number of tokens per reply.")


class TechniqueInput(TechniqueConfig):
    """A technique of a submitted run."""

    model_config = ConfigDict(extra="forbid")


class AgentInput(AgentConfig):
    """The agent of a submitted run. Unknown fields are rejected, because they would have no effect."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(
        min_length=1, max_length=300, description="Name of a model of `GET /api/models`, `provider/name`."
    )
    system_prompt: str | None = Field(
        default=None, max_length=50_000, description="Instructions in addition to those of the environment."
    )
    techniques: list[TechniqueInput] = Field(
        default=[], max_length=50, description="Techniques with custom parameters."
    )
    temperature: float = Field(default=0.0, ge=0, le=2, allow_inf_nan=False, description="Sampling temperature.")
    max_tokens: int = Field(default=4096, ge=1, le=1_000_000, description="Maximum number of tokens per reply.")


class RunConfig(BaseModel):
    """Configuration of a run. With a `seed_set`, `num_episodes` is its length."""

    domain_id: str = Field(description="ID of the domain.")
    binding_vow_version: str = Field(description="Version of the domain's binding vow; must be the current one.")
    agent_config: AgentConfig = Field(description="The agent.")
    seed_set: list[int] | None = Field(default=None, description="One seed per episode; null: 0, 1, …")
    num_episodes: int = Field(default=1, ge=1, description="Number of episodes.")
    max_parallel: int = Field(default=1, ge=1, description="Maximum number of episodes at a time.")
    env_id: str | None = Field(
        default=None,
        description="ID of one of the caller's environments; required if the caller has several in the domain.",
    )

    @model_validator(mode="before")
    @classmethod
    def _as_many_as_seeds(cls, given: Any) -> Any:
        if isinstance(given, dict) and isinstance(given.get("seed_set"), list) and given.get("num_episodes") is None:
            return {**given, "num_episodes": max(len(given["seed_set"]), 1)}
        return given

    @model_validator(mode="after")
    def _one_seed_each(self) -> "RunConfig":
        if self.seed_set is not None and len(self.seed_set) != self.num_episodes:
            raise ValueError(f"seed_set has {len(self.seed_set)} seeds for {self.num_episodes} episodes")
        return self


class RunInput(RunConfig):
    """A run of an environment to submit."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    kind: Literal["environment"] = Field(default="environment", description="What the run is of.")
    domain_id: str = Field(min_length=1, max_length=200, description="ID of the domain.")
    binding_vow_version: str = Field(
        max_length=100, description="Version of the domain's binding vow; must be the current one."
    )
    agent_config: AgentInput = Field(description="The agent.")
    seed_set: list[Seed] | None = Field(default=None, description="One seed per episode; null: 0, 1, …")
    max_parallel: int = Field(default=1, ge=1, le=1_000, description="Maximum number of episodes at a time.")
    env_id: str | None = Field(
        default=None,
        max_length=200,
        description="ID of one of the caller's environments; required if the caller has several in the domain.",
    )
    team_id: str | None = Field(
        default=None, max_length=200, description="ID of the team that will own the run; null: the caller alone."
    )
    visibility: Visibility | None = Field(
        default=None, description="Private by default; runs of guests are always public."
    )
    name: str = Field(default="", max_length=200, description="Name of the run in lists.")
    tags: list[str] = Field(default=[], max_length=50, description="Tags to search by.")
    trials: int = Field(default=1, ge=1, le=100, description="Number of episodes per seed.")
    outage_seconds: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="How long the run waits for a model server that does not respond; default and maximum are "
        "set by the server.",
    )
    max_missing: float | None = Field(
        default=None,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="Share of episodes that may lack a value before the run is partial; default and maximum "
        "are set by the server.",
    )
    official: bool = Field(
        default=False,
        description="Follow the domain's protocol, for its official leaderboard: the server draws the seeds, "
        "the run is public, and it counts as an attempt whatever its outcome. Omit what the "
        "protocol fixes.",
    )


class RolloutInput(BaseModel):
    """An evaluation of a rollout of a workspace to submit. Unknown fields are rejected: they would have no effect.

    The code is that of `snapshot`, `commit` or `branch`, by default of the newest commit of the branch that is
    followed. The configuration is the file `configuration` of that code, unless `config` is given instead.
    """

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_ROLLOUT_EXAMPLE]})

    kind: Literal["rollout"] = Field(description="What the run is of.")
    workspace: str = Field(min_length=1, max_length=200, description="ID or name of the workspace.")
    configuration: str = Field(
        default="",
        max_length=1_000,
        description="Path of the configuration in the workspace directory, such as `configs/eval/math.toml`.",
    )
    config: dict[str, Any] | None = Field(
        default=None, description="Tables of the configuration, in place of those in the file."
    )
    assignments: dict[str, Any] = Field(
        default={}, max_length=200, description="Values by `section.key`, which take precedence."
    )
    from_run: str = Field(
        default="",
        max_length=200,
        description="ID or name of a run of the workspace whose configuration, code, dataset and rows are taken "
        "where this request says nothing else.",
    )
    branch: str = Field(default="", max_length=300, description="Branch whose newest commit is evaluated.")
    commit: str = Field(default="", max_length=64, description="Commit to evaluate: its digits, at least 7.")
    snapshot: str = Field(default="", max_length=200, description="ID of an uploaded snapshot to evaluate.")
    dataset: str = Field(default="", max_length=200, description="ID or name of a dataset, in place of the configured.")
    dataset_version: int | None = Field(default=None, ge=1, description="Version of the dataset; null: the newest.")
    name: str = Field(
        default="",
        max_length=200,
        description="Name of the run, unique in its workspace; by default made from the configuration's. The same "
        "request with the same name is the same run, so that it can be repeated safely.",
    )
    rows: str = Field(
        default="", max_length=10_000, description="Rows to run by index from 0, `3,7,10-20`; empty: as configured."
    )
    limit: int | None = Field(
        default=None, ge=0, description="Number of rows from the start; 0: all; null: as configured."
    )
    tags: list[str] = Field(default=[], max_length=50, description="Tags to search by.")


class BenchmarkInput(BaseModel):
    """A run of a built-in benchmark to submit. Unknown fields are rejected, because they would have no effect."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_BENCHMARK_EXAMPLE]})

    kind: Literal["benchmark"] = Field(description="What the run is of.")
    benchmark: str = Field(min_length=1, max_length=200, description="ID or alias of the benchmark.")
    model: str = Field(
        min_length=1, max_length=300, description="Name of a model of `GET /api/models`, `provider/name`."
    )
    parameters: dict[str, Any] = Field(
        default={},
        max_length=200,
        description="Parameters of the benchmark, the model and the run. In place of a path stands a dataset of the "
        "workspace: `dataset:NAME` or `dataset:NAME@VERSION`.",
    )
    agent: str = Field(
        default="", max_length=200, description="Name of an agent, or a label for the benchmark's own agent."
    )
    max_examples: int | None = Field(default=None, ge=1, description="Maximum number of tasks; null: all.")
    trials: int | None = Field(default=None, ge=1, le=1_000, description="Repetitions of every task; null: 1.")
    parallel: int = Field(
        default=4, ge=1, le=1_000, description="Maximum number of concurrent episodes; the server may run fewer."
    )
    run_usd: float | None = Field(
        default=None,
        gt=0,
        le=1e6,
        allow_inf_nan=False,
        description="Cost in USD at which the run stops; null: at what is left of the budgets.",
    )
    workspace: str = Field(
        default="", max_length=200, description="ID or name of the workspace that the run belongs to; empty: your own."
    )
    name: str = Field(default="", max_length=200, description="Name of the run; unique in its workspace.")
    tags: list[str] = Field(default=[], max_length=50, description="Tags to search by.")
    reuse: bool = Field(
        default=False,
        description="Return a run of the same experiment (equal `signature`) of the workspace, or of your own without "
        "one, instead of a new run: a finished one, else one that waits or is going on, else one of yours that can be "
        "continued.",
    )


def _kind_of(given: Any) -> str:
    kind = given.get("kind") if isinstance(given, dict) else getattr(given, "kind", None)
    return "environment" if kind is None else str(kind)


RunBody = Annotated[
    Annotated[RunInput, Tag("environment")]
    | Annotated[RolloutInput, Tag("rollout")]
    | Annotated[BenchmarkInput, Tag("benchmark")],
    Discriminator(_kind_of),
]
"""A run to submit; `kind` says of what. Without it, it is of an environment."""


class EvaluationDocument(Document):
    """What an evaluation was submitted with."""

    workspace: str = Field(description="ID of its workspace.")
    name: str = Field(description="Name of the run, unique in its workspace.")
    configuration: str = Field(description="Path of its configuration; empty if that was not a file.")
    config: dict[str, Any] = Field(default={}, description="Tables of its configuration.")
    assignments: dict[str, Any] = Field(default={}, description="Values by `section.key` that took precedence.")
    rollout: str = Field(default="", description="Name of the rollout.")
    entrypoint: str = Field(default="", description="Its entry file.")
    branch: str = Field(description="Branch of the code; empty if unknown.")
    commit: str = Field(description="Commit of the code; empty if unknown.")
    message: str = Field(default="", description="First line of the commit's message; empty if unknown.")
    author: str = Field(default="", description="Author of the commit; empty if unknown.")
    dirty: bool = Field(
        default=False, description="Whether the code was uploaded with changes that were not committed."
    )
    snapshot: str = Field(description="Digest of the code: equal code has an equal one.")
    dataset: str = Field(default="", description="Name of the dataset when the run was submitted.")
    dataset_id: str = Field(description="ID of the dataset.")
    dataset_version: int = Field(description="Version of the dataset.")
    dataset_digest: str = Field(default="", description="SHA-256 of the dataset's file.")
    rows: str = Field(default="", description="Chosen rows by index; empty: as configured.")
    limit: int | None = Field(default=None, description="Number of rows from the start; 0: all; null: as configured.")
    notes: list[str] = Field(
        default=[], description="Remarks about the configuration, for example settings without effect."
    )
    scopes: dict[str, Literal["workspace", "personal", "run"]] = Field(
        default={},
        description="Whose value each secret had when the run was submitted, by name; `run`: it came with the run, and "
        "is kept until the run ends.",
    )


class RunRequestDocument(Document):
    """The request for a run on a server, and its state. In lists `config` comes without the system prompt."""

    kind: Literal["environment", "rollout", "benchmark", "scan", "imported"] = Field(
        default="environment",
        description="What the run is of; `scan`: a question about another run; `imported`: it was run elsewhere.",
    )
    config: RunConfig | None = Field(description="Configuration of a run of an environment; null for other kinds.")
    evaluation: EvaluationDocument | None = Field(
        default=None, description="What a rollout's run was submitted with; null for other kinds."
    )
    parameters: dict[str, Any] | None = Field(
        default=None,
        description="Given parameters of a benchmark, or question and choice of episodes of a scan; null for others.",
    )
    state: Literal["queued", "claimed", "ended", "cancelled"] = Field(
        description="`claimed`: a worker is running it; `ended`: it was run, whatever the outcome."
    )
    reason: str = Field(description="Why it was cancelled or ended early; otherwise empty.")
    ended_at: datetime | None
    expires_at: datetime | None = Field(description="When a guest's run will be deleted; null for other runs.")
    requester_id: str | None = Field(description="User ID as text, or `guest:ID`; null for outsiders.")
    purpose: Literal["run", "test", "full_bench"]
    environment_id: str | None = Field(
        description="ID of the submitted environment; null if the domain was registered with a URL."
    )
    environment_version: int | None = Field(description="Version of the submitted environment.")
    redacted: bool = Field(description="Whether parts are hidden from the caller.")


class RunUpdate(BaseModel):
    """Changes of a run; fields that are left out remain unchanged."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"visibility": "gallery_public"}]})

    visibility: Visibility | None = Field(default=None, description="Who may see the run.")
    name: str | None = Field(
        default=None,
        max_length=200,
        description="Its name; an empty one is replaced by its benchmark, its model and what sets it apart.",
    )
    tags: list[str] | None = Field(
        default=None,
        max_length=50,
        examples=[["baseline", "temperature 0"]],
        description="Tags to search by; they replace all tags.",
    )


class RunLogLine(Document):
    """A line of the log of a run."""

    kind: Literal["state", "warning", "error"] = Field(description="Kind of line.")
    at: datetime | None = Field(default=None, description="Time; null if unknown.")
    text: str = Field(description="Text of the line.")


class RunLog(Document):
    """The log of a run: its progress, warnings and errors, oldest first."""

    run_id: str
    lines: list[RunLogLine]


class RunOutputPiece(Document):
    """A piece of what the programs of a run printed."""

    number: int = Field(description="Number of the piece, from 1.")
    at: datetime = Field(description="When it was stored.")
    text: str = Field(description="Text, mostly whole lines.")


class RunOutputPage(Document):
    """What the programs of a run printed, oldest first: installation, and processes of rollouts."""

    run_id: str
    items: list[RunOutputPiece]
    last: int = Field(description="Number of the last piece here; ask for what comes after it.")
    ended: bool = Field(description="Whether nothing more will come unless the run is resumed.")


class TestEpisodeInput(BaseModel):
    """A single episode for testing a domain."""

    __test__ = False

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "domain_id": "f0a1c2d3-0000-4000-8000-000000000001",
                    "binding_vow_version": "1.0.0",
                    "agent_config": {"model": "builtin/random"},
                    "seed": 3,
                }
            ]
        }
    )

    domain_id: str = Field(min_length=1, max_length=200, description="ID of the domain.")
    binding_vow_version: str | None = Field(
        default=None,
        max_length=100,
        description="Version of the domain's binding vow; must be the current one, which is the default.",
    )
    agent_config: AgentInput = Field(description="The agent.")
    seed: Seed | None = Field(default=None, description="Seed of the episode; null: 0.")
    env_id: str | None = Field(
        default=None,
        max_length=200,
        description="ID of one of the caller's environments; required if the caller has several in the domain.",
    )
    env_url: str | None = Field(
        default=None, max_length=2_000, description="URL of an environment to use instead of the domain's own."
    )
    team_id: str | None = Field(
        default=None,
        max_length=200,
        description="ID of the team that will own the episode's run; null: the caller alone.",
    )
