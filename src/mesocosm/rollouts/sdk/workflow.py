"""The base classes of workflows and graders, which users write to run one row and to grade its sample."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, GraderConfig
from mesocosm.rollouts.sdk.context import AgentWorkflowContext, GraderContext
from mesocosm.rollouts.sdk.sample import MessageDict

TConfig = TypeVar("TConfig", bound=AgentWorkflowConfig)


class AgentWorkflowOutput(BaseModel):
    """A workflow's result: its messages, named numbers about them, and free notes.

    With messages of None there is no sample. Unknown fields and non-finite numbers are rejected.

    >>> AgentWorkflowOutput(messages=[{"role": "assistant", "content": "4"}], metrics={"turns": 1}).metrics
    {'turns': 1.0}
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", allow_inf_nan=False, revalidate_instances="always")

    messages: list[MessageDict] | None = None
    metrics: dict[str, float] = Field(default_factory=dict)
    info: dict[str, Any] = Field(default_factory=dict)


class AgentWorkflow(ABC, Generic[TConfig]):
    """Runs one row. Every execution gets a new instance and a copy of the configuration.

    >>> class Repeat(AgentWorkflow):
    ...     async def run(self, ctx):
    ...         return [*ctx.prompt, {"role": "assistant", "content": "4"}]
    >>> evaluate(rows, prompt="{question}", agent=Repeat, grader="exact", model="builtin/empty").score
    0.5000 [0.0945, 0.9055] weak n=2/2
    """

    def __init__(self, config: TConfig | None = None) -> None:
        self.config = config

    @abstractmethod
    async def run(self, ctx: AgentWorkflowContext[TConfig]) -> AgentWorkflowOutput | list[MessageDict] | None:
        """Run the row of `ctx` and return the messages.

        Return None to take the sample from the source registered with the RolloutContext.
        """


class Grader(ABC):
    """Grades one sample. Every execution gets a new instance and a copy of the configuration.

    >>> class Exact(Grader):
    ...     async def grade(self, ctx):
    ...         ctx.set_reward(ctx.sample.messages[-1]["content"] == ctx.label)
    >>> evaluate(rows, prompt="{question}", grader=Exact, model="builtin/oracle").metrics
    {'exact': 1.0000 [0.3424, 1.0000] weak n=2/2}
    """

    def __init__(self, config: GraderConfig | None = None) -> None:
        self.config = config

    @abstractmethod
    async def grade(self, ctx: GraderContext) -> Any:
        """Set the reward of `ctx`'s sample, or its `remove_sample`. The return value is ignored."""
