"""The classes of a rollout, and facts about a row that the published protocol does not contain."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, BaseConfig, GraderConfig
from mesocosm.rollouts.sdk.grader import Grader
from mesocosm.rollouts.sdk.judge import Judge
from mesocosm.rollouts.sdk.request import ExecutionRequest
from mesocosm.rollouts.sdk.workflow import AgentWorkflow


@dataclass(frozen=True, slots=True)
class RolloutClasses:
    """A workflow and a grader with their configurations. Each execution gets copies of the configurations."""

    workflow: type[AgentWorkflow[Any]]
    workflow_config: AgentWorkflowConfig | None = None
    grader: type[Grader] | None = None
    grader_config: GraderConfig | None = None

    def make_workflow(self) -> tuple[AgentWorkflow[Any], Any]:
        """Return a new workflow and its copy of the configuration. Raises TypeError if that cannot be copied."""
        config = _copy(self.workflow_config)
        return self.workflow(config), config

    def make_grader(self) -> Grader:
        """Return a new grader. Raises TypeError without a grader, or if its configuration cannot be copied."""
        if self.grader is None:
            raise TypeError("this rollout has no grader")
        return self.grader(_copy(self.grader_config))


@dataclass(frozen=True, slots=True)
class RowMetadata:
    """Facts about a row that the published protocol has no field for."""

    row: int | None = None
    trial: int = 0
    seed: int = 0
    judge: Judge | None = None
    artifacts: Path | None = None

    @classmethod
    def of(cls, request: ExecutionRequest) -> Self:
        """Read the facts from the extra fields of a request. Raises KeyError for an incomplete judge."""
        told = (request.extra_fields or {}).get("mesocosm")
        if not isinstance(told, Mapping):
            return cls()
        judge, artifacts = told.get("judge"), told.get("artifacts")
        return cls(
            told.get("row"),
            told.get("trial") or 0,
            told.get("seed") or 0,
            Judge(judge["base_url"], judge["api_key"], judge["model"]) if judge else None,
            artifacts if artifacts is None or isinstance(artifacts, Path) else Path(artifacts),
        )


def _copy(config: BaseConfig | None) -> Any:
    if config is None:
        return None
    try:
        return copy.deepcopy(config)
    except Exception as error:
        raise TypeError(
            f"configuration {config.name!r} ({type(config).__name__}) cannot be copied, and every execution gets "
            f"a copy of its own ({type(error).__name__}: {error}); keep locks, clients and open files out of it "
            "and make them in __init__"
        ) from error
