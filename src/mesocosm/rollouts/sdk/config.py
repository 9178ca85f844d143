"""Configuration of workflows and graders."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field


class ConcurrencyConfig(BaseModel):
    """Maximum number of concurrent executions, at least 1; None is unlimited."""

    max_concurrent: int | None = Field(default=None, ge=1)


class BaseConfig(BaseModel):
    """A named configuration. Undeclared fields are kept; assignments are validated."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="allow", validate_assignment=True, arbitrary_types_allowed=True
    )

    name: str
    description: str | None = None


class AgentWorkflowConfig(BaseConfig):
    """Configuration of a workflow; subclass it to add fields."""

    concurrency: ConcurrencyConfig = Field(default_factory=ConcurrencyConfig)


class GraderConfig(BaseConfig):
    """Configuration of a grader; subclass it to add fields."""

    concurrency: ConcurrencyConfig = Field(default_factory=ConcurrencyConfig)
