"""The tables of a valid configuration."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mesocosm.core.model import MAX_TOKENS


@dataclass(frozen=True, slots=True)
class Code:
    """A copy of the workspace at a commit: the full commit id, and the root of the copy."""

    commit: str
    root: Path


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is evaluated: a folder below `rollouts/`, its entry file, a model `provider/name` and a dataset.

    `branch` or `commit_sha` select a commit, whose code is in `code`; without them the files are used as they are.
    """

    rollout: str
    entrypoint: str
    model_path: str
    dataset: str
    branch: str = ""
    commit_sha: str = ""
    code: Code | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Which rows run, how often, how many at once, and how they are graded.

    Rows: `everything`, the first `limit`, or a random share `sample` drawn with `seed`; without any of these, a random
    tenth. `offset` rows at the start are skipped first. Each row runs `n` times. Timeouts are seconds per attempt.
    `outage_seconds` and `max_missing` belong to core.run.Limits; None selects its defaults.
    """

    limit: int | None = None
    everything: bool = False
    sample: float | None = None
    seed: int | None = None
    offset: int = 0
    n: int = 1
    batch_size: int | None = None
    pass_threshold: float = 1.0
    agent_workflow_timeout_s: float = 450.0
    grader_timeout_s: float = 150.0
    outage_seconds: float | None = None
    max_missing: float | None = None


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column has which role. `ground_truth` uses the first of its columns that has a value.

    `split` names the part of the dataset that a row belongs to; empty: no column does.
    """

    user_prompt: str = "user_prompt"
    system_prompt: str = "system_prompt"
    ground_truth: tuple[str, ...] = ("ground_truth", "label")
    metadata: str = "metadata"
    split: str = "split"

    def options(self) -> dict[str, Any]:
        """Return the roles as an option of a run; the usual split is left out, as before there were splits."""
        found = asdict(self)
        if self.split == Columns().split:
            del found["split"]
        return {**found, "ground_truth": list(self.ground_truth)}


@dataclass(frozen=True, slots=True)
class DatasetTable:
    """How the dataset is read.

    `revision` and `config` apply to the Hugging Face hub. `split` is one of the hub, or of the rows that name it in the
    column of this role. `format` applies to files without a known ending.
    With `metadata`, columns without a role are passed to the workflow as metadata.
    """

    columns: Columns = field(default_factory=Columns)
    revision: str = ""
    split: str = ""
    config: str = ""
    format: str = ""
    metadata: bool = True


@dataclass(frozen=True, slots=True)
class GraderTable:
    """A ready-made grader that replaces the rollout's own, and its options."""

    use: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelTable:
    """Defaults for model calls, and the judge.

    `timeout_s` is the time limit of one call in seconds; `extra` holds further fields of its body. `judge` is a model
    `provider/name` for graders.
    """

    temperature: float = 0.0
    max_tokens: int = MAX_TOKENS
    top_p: float | None = None
    base_url: str = ""
    timeout_s: float = 120.0
    judge: str = ""
    reasoning_effort: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
