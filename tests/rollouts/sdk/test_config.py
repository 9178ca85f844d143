"""Configurations of workflows and graders."""

import pytest
from pydantic import ValidationError

from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, ConcurrencyConfig, GraderConfig


def test_fields_that_are_not_declared_are_kept() -> None:
    config = AgentWorkflowConfig.model_validate({"name": "a", "model_params": {"temperature": 1}})
    assert config.model_extra == {"model_params": {"temperature": 1}}


def test_a_name_is_required() -> None:
    with pytest.raises(ValidationError, match="name"):
        GraderConfig.model_validate({})


def test_concurrency_is_unlimited_unless_said_and_at_least_one() -> None:
    assert AgentWorkflowConfig(name="a").concurrency.max_concurrent is None
    with pytest.raises(ValidationError):
        ConcurrencyConfig(max_concurrent=0)


def test_assignments_are_validated() -> None:
    config = AgentWorkflowConfig(name="a")
    with pytest.raises(ValidationError):
        config.name = None  # type: ignore[assignment]
