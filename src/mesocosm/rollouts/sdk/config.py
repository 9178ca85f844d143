"""What users configure about a workflow and a grader."""

from pydantic import BaseModel, ConfigDict, Field


class ConcurrencyConfig(BaseModel):
    """How many executions may run at once, at least 1; None: any number."""

    max_concurrent: int | None = Field(default=None, ge=1)


class BaseConfig(BaseModel):
    """A named configuration. Fields that it does not declare are kept; assignments are validated."""

    model_config = ConfigDict(extra="allow", validate_assignment=True, arbitrary_types_allowed=True)

    name: str
    description: str | None = None


class AgentWorkflowConfig(BaseConfig):
    """Configuration of a workflow; subclass it for fields of your own."""

    concurrency: ConcurrencyConfig = Field(default_factory=ConcurrencyConfig)


class GraderConfig(BaseConfig):
    """Configuration of a grader; subclass it for fields of your own."""

    concurrency: ConcurrencyConfig = Field(default_factory=ConcurrencyConfig)
