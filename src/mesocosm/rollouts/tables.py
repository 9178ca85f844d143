"""The tables of a configuration, as they are once everything in them was found right."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Code:
    """A copy of the workspace as it is at a commit: the commit's whole id, and the root of the copy."""

    commit: str
    root: Path


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is evaluated: a folder below `rollouts/`, its entry file, a model `provider/name` and a dataset.

    `branch` or `commit_sha` select the code, and `code` is its folder; by default the files are used as they are.
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
    """Which rows, how often, how many at once, and how they are judged.

    Rows: `everything`, or the first `limit`, or a random share `sample` of them drawn from `seed`. With none of the
    three it is a random tenth. `offset` rows are left out at the start before anything else. `n` tries of each row.
    Timeouts are seconds of one try. `outage_seconds` and `max_missing` are those of core.run.Limits, None its defaults.
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
    """Which column plays which role. Of several for `ground_truth`, the first that is filled is taken."""

    user_prompt: str = "user_prompt"
    system_prompt: str = "system_prompt"
    ground_truth: tuple[str, ...] = ("ground_truth", "label")
    metadata: str = "metadata"


@dataclass(frozen=True, slots=True)
class DatasetTable:
    """How the dataset is read.

    `revision`, `split` and `config` are for the Hugging Face hub. `format` is for files without a known ending. With
    `metadata`, columns without a role reach the workflow as metadata.
    """

    columns: Columns = field(default_factory=Columns)
    revision: str = ""
    split: str = ""
    config: str = ""
    format: str = ""
    metadata: bool = True


@dataclass(frozen=True, slots=True)
class GraderTable:
    """A ready-made grader in place of the rollout's own, and its options."""

    use: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelTable:
    """Defaults for calls of the model, and the judge.

    `timeout_s` are the seconds of one call, `extra` further fields of its body. `judge` is a model `provider/name` for
    graders.
    """

    temperature: float = 0.0
    max_tokens: int = 4096
    top_p: float | None = None
    base_url: str = ""
    timeout_s: float = 120.0
    judge: str = ""
    reasoning_effort: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
