"""The contexts that workflows and graders receive, and the context variable around them."""

import asyncio
import inspect
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from mesocosm.rollouts.sdk import clients
from mesocosm.rollouts.sdk.config import AgentWorkflowConfig
from mesocosm.rollouts.sdk.judge import Judge
from mesocosm.rollouts.sdk.sample import MessageDict, RolloutSample, copied
from mesocosm.rollouts.sdk.status import RolloutStatus

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic
    from openai import AsyncOpenAI, OpenAI

TConfig = TypeVar("TConfig", bound=AgentWorkflowConfig)

CHAT_COMPLETIONS_URL_ENV = "OSMOSIS_CHAT_COMPLETIONS_URL"
API_KEY_ENV = "OSMOSIS_API_KEY"
ROLLOUT_ID_ENV = "OSMOSIS_ROLLOUT_ID"

ARTIFACT_ROOT_ENV = "_OSMOSIS_ROLLOUT_ARTIFACT_ROOT"

_LOG = logging.getLogger(__name__)
ENDS = frozenset({RolloutStatus.SUCCESS, RolloutStatus.FAILURE, RolloutStatus.CANCELLED})
"""States in which a rollout stays."""

_number = TypeAdapter(float, config={"allow_inf_nan": False})


def artifact_root() -> Path:
    """Return the folder with one artifact folder per rollout."""
    root = os.environ.get(ARTIFACT_ROOT_ENV)
    return Path(root) if root else Path.home() / ".osmosis"


class SampleError(TypeError):
    """A sample source returned something other than a sample."""


class SampleSource(ABC):
    """Creates the sample of a workflow that returns None, from an object with messages: a session or an agent."""

    @abstractmethod
    async def get_sample(self) -> RolloutSample:
        """Return the current sample. Sources registered with a name may take that name as an argument."""

    async def get_preview(self, max_messages: int) -> RolloutSample | None:
        """Return None: mesocosm shows the calls of a running rollout as its proxy records them, and asks no source."""
        return None


@dataclass
class RolloutProgress:
    """The status of a rollout for those who wait for it. `on_status` is called after each change."""

    status: RolloutStatus = RolloutStatus.QUEUED
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    on_status: Callable[[RolloutStatus], None] | None = field(default=None, repr=False)

    async def set_status(self, status: RolloutStatus) -> None:
        """Change the status; one that is an end stays."""
        async with self.changed:
            if self.status in ENDS or self.status is status:
                return
            self.status = status
            self.changed.notify_all()
        if self.on_status is not None:
            try:
                self.on_status(status)
            except Exception:  # noqa: BLE001 - an observer must not end a rollout
                _LOG.exception("the observer of a rollout's status failed")

    async def wait_for_status_change(self) -> RolloutStatus:
        """Return the next status, at once if this one is an end."""
        async with self.changed:
            before = self.status
            if before not in ENDS:
                await self.changed.wait_for(lambda: self.status is not before)
            return self.status


rollout_contextvar: ContextVar["RolloutContext | None"] = ContextVar("rollout_contextvar", default=None)


@dataclass
class RolloutContext:
    """The address of the rollout's model and the source of its sample; a context manager for get_rollout_context.

    Empty values are read from the environment (OSMOSIS_CHAT_COMPLETIONS_URL, OSMOSIS_API_KEY, OSMOSIS_ROLLOUT_ID).
    On exit there is no context at all; the previous one is not restored. `process_id`, `preview_path` and
    `preview_enabled` are accepted and have no effect.
    """

    chat_completions_url: str = ""
    api_key: str | None = field(default=None, repr=False)
    rollout_id: str = ""
    sample_source: SampleSource | None = None
    progress: RolloutProgress | None = field(default=None, compare=False)
    process_id: str | None = None
    preview_path: Path | None = None
    preview_enabled: bool = True
    sample_sources: dict[str, SampleSource] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chat_completions_url = self.chat_completions_url or os.environ.get(CHAT_COMPLETIONS_URL_ENV, "")
        self.api_key = self.api_key or os.environ.get(API_KEY_ENV)
        self.rollout_id = self.rollout_id or os.environ.get(ROLLOUT_ID_ENV, "")

    def __enter__(self) -> Self:
        rollout_contextvar.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        rollout_contextvar.set(None)

    def openai(self) -> "AsyncOpenAI":
        """Return an AsyncOpenAI client for the rollout's model, ready to use; rows share its connections.

        Raises RuntimeError without an address, ModuleNotFoundError without the openai package.
        """
        return clients.openai(*self.model_address())

    def sync_openai(self) -> "OpenAI":
        """Return a blocking OpenAI client, as `openai` does."""
        return clients.sync_openai(*self.model_address())

    def anthropic(self) -> "AsyncAnthropic":
        """Return an AsyncAnthropic client for the rollout's model, ready to use; rows share its connections.

        Raises RuntimeError without an address, ModuleNotFoundError without the anthropic package.
        """
        return clients.anthropic(*self.model_address())

    def sync_anthropic(self) -> "Anthropic":
        """Return a blocking Anthropic client, as `anthropic` does."""
        return clients.sync_anthropic(*self.model_address())

    def model_address(self) -> tuple[str, str]:
        """Return the URL of the rollout's model and its key. Raises RuntimeError if there is none."""
        if not self.chat_completions_url:
            raise RuntimeError(
                "no rollout is running here, so there is no model to talk to: make clients within AgentWorkflow.run, "
                f"or set {CHAT_COMPLETIONS_URL_ENV}"
            )
        # Clients cannot be created without a key, though a local model may need none.
        return self.chat_completions_url.rstrip("/"), self.api_key or "none"

    def set_sample_source(self, source: SampleSource) -> None:
        """Register the source of the sample. Raises ValueError if there is one already."""
        if self.sample_source is not None:
            raise ValueError("this rollout has a sample source already; a rollout has one")
        self.sample_source = source

    async def set_status(self, status: RolloutStatus) -> None:
        """Tell those who wait for this rollout what it does now."""
        if self.progress is not None:
            await self.progress.set_status(status)

    def register_sample_source(self, name: str, source: SampleSource) -> None:
        """Register a source by name, as older rollouts do. Raises ValueError if the name is taken."""
        if name in self.sample_sources:
            raise ValueError(f"this rollout has a sample source {name!r} already; give each agent or session its name")
        self.sample_sources[name] = source

    async def get_sample(self) -> RolloutSample | None:
        """Return the sample of the source, or all samples of named sources joined into one; None without a source."""
        return joined(list((await self.get_samples()).values()))

    async def get_samples(self) -> dict[str, RolloutSample]:
        """Return the sample of each source that has one, by name; an unnamed source is called `main`.

        Raises SampleError, and any exception of a source.
        """
        given: dict[str, Any] = {}
        if self.sample_source is not None:
            given["main"] = await self.sample_source.get_sample()
        for name, source in self.sample_sources.items():
            given[name] = await _ask(source, name)
        samples = {name: _sample(name, value) for name, value in given.items() if value is not None}
        for name in self.sample_sources:
            if name in samples and samples[name].id is None:
                samples[name].id = name
        return samples


def get_rollout_context() -> RolloutContext | None:
    """Return the context of the rollout that this code runs in, or None outside of rollouts.

    Within `grade` it has the judge's address, if there is a judge; the published package returns None there.
    """
    return rollout_contextvar.get()


def joined(samples: Sequence[RolloutSample]) -> RolloutSample | None:
    """Return several samples joined into one: messages in sequence, metrics as `source.metric`; None without samples.

    The reward is the mean of the set rewards, over samples that are not removed; if all are removed, so is the result.
    """
    if len(samples) < 2:
        return samples[0] if samples else None
    kept = [sample for sample in samples if not sample.remove_sample]
    rewards = [sample.reward for sample in kept if sample.reward is not None]
    names = [sample.id or str(place) for place, sample in enumerate(samples)]
    metrics: dict[str, Any] = {}
    for name, sample in zip(names, samples, strict=True):
        metrics.update({f"{name}.{key}": value for key, value in sample.metrics.items()})
        if sample.reward is not None:
            metrics[f"{name}.reward"] = sample.reward
    return RolloutSample(
        messages=[message for sample in samples for message in sample.messages],
        trajectory_messages=_trajectory(samples),
        label=next((sample.label for sample in samples if sample.label is not None), None),
        reward=sum(rewards) / len(rewards) if rewards else None,
        remove_sample=not kept,
        metrics=metrics,
        extra_fields={name: sample.extra_fields for name, sample in zip(names, samples, strict=True)},
    )


def _trajectory(samples: Sequence[RolloutSample]) -> list[Any] | None:
    kept = [sample.trajectory_messages for sample in samples if sample.trajectory_messages is not None]
    return [copied(message) for messages in kept for message in messages] if kept else None


def _sample(name: str, value: Any) -> RolloutSample:
    """Return the value of a source as a sample; a dict in the form of a sample is converted. Raises SampleError."""
    try:
        return RolloutSample.model_validate(value)
    except ValidationError as error:
        raise SampleError(
            f"sample source {name!r} gave {type(value).__name__}, which is not a sample: {error}"
        ) from error


async def _ask(source: Any, name: str) -> Any:
    """Call a source, with its name if it accepts one."""
    try:
        inspect.signature(source.get_sample).bind(name)
    except TypeError:
        named = False
    else:
        named = True
    return await (source.get_sample(name) if named else source.get_sample())


class _Folder:
    """Provides a folder for files to keep, created on first use."""

    _artifacts_dir: Path | None

    @property
    def artifacts_dir(self) -> Path | None:
        """A folder for files to keep with the sample; None if no files are kept, or if it cannot be written."""
        folder = self._artifacts_dir
        try:
            if folder is not None and not folder.is_dir():
                folder.mkdir(parents=True, exist_ok=True)
            if folder is not None and not os.access(folder, os.W_OK):
                raise PermissionError(f"no permission to write into {folder}")
        except OSError as error:
            _LOG.warning("no files are kept, because their folder cannot be written: %s", error)
            self._artifacts_dir = None
        return self._artifacts_dir

    @artifacts_dir.setter
    def artifacts_dir(self, folder: Path | None) -> None:
        self._artifacts_dir = folder


class AgentWorkflowContext(_Folder, Generic[TConfig]):
    """The row that a workflow runs: initial messages, metadata, its index, trial and seed, without the label.

    `config` is the workflow's own `self.config`. `row_index` counts from 0 and is None if unknown; `seed` is the same
    for the same row and trial.

    >>> AgentWorkflowContext([{"role": "user", "content": "1 + 1?"}], metadata={"level": "easy"}).metadata["level"]
    'easy'
    """

    def __init__(
        self,
        prompt: list[MessageDict],
        config: TConfig | None = None,
        metadata: dict[str, Any] | None = None,
        artifacts_dir: Path | None = None,
        *,
        row_index: int | None = None,
        trial: int = 0,
        seed: int = 0,
    ) -> None:
        self.prompt = prompt
        self.config = config
        self.metadata = metadata
        self.artifacts_dir = artifacts_dir
        self.row_index = row_index
        self.trial = trial
        self.seed = seed


class HarborAgentWorkflowContext(AgentWorkflowContext[TConfig]):
    """The context of a workflow that acts in a container, its `environment`."""

    def __init__(
        self,
        prompt: list[MessageDict],
        config: TConfig | None = None,
        environment: Any = None,
        metadata: dict[str, Any] | None = None,
        artifacts_dir: Path | None = None,
    ) -> None:
        super().__init__(prompt, config, metadata, artifacts_dir)
        self.environment = environment


class GraderContext(_Folder):
    """What a grader grades: the sample and the row's label and metadata. The grader may replace `sample`.

    `judge` is the run's model for graders, or None. `samples` are the samples by source name, for older rollouts with
    several sources.

    >>> from mesocosm.rollouts.sdk import RolloutSample
    >>> context = GraderContext("2", RolloutSample(messages=[{"role": "assistant", "content": "2"}]))
    >>> context.set_reward(1)
    >>> context.sample.reward
    1.0
    """

    def __init__(
        self,
        label: str | None = None,
        sample: RolloutSample | None = None,
        project_path: str | None = None,
        metadata: dict[str, Any] | None = None,
        artifacts_dir: Path | None = None,
        *,
        samples: dict[str, RolloutSample] | None = None,
        row_index: int | None = None,
        trial: int = 0,
        seed: int = 0,
        judge: Judge | None = None,
    ) -> None:
        self.label = label
        self.sample = sample
        self.project_path = project_path
        self.metadata = metadata
        self.artifacts_dir = artifacts_dir
        self.samples: dict[str, RolloutSample] = samples if samples is not None else _named(sample)
        self.row_index = row_index
        self.trial = trial
        self.seed = seed
        self.judge = judge

    def set_reward(self, reward: Any) -> None:
        """Set the sample's reward: a number, a numeric text, or a scalar of another library.

        Raises ValueError without a sample, and pydantic's ValidationError for anything but a finite number.
        """
        if self.sample is None:
            raise ValueError("there is no sample to reward: the workflow left none")
        self.sample.reward = reward

    def set_score(self, name: str, value: Any) -> None:
        """Set a named score in addition to the reward; it becomes a metric of the sample and is aggregated over rows.

        Raises ValueError without a sample or a name, and ValidationError for anything but a finite number.
        """
        if self.sample is None:
            raise ValueError(f"there is no sample to score with {name!r}: the workflow left none")
        if not name:
            raise ValueError("a score needs a name")
        self.sample.metrics[name] = _number.validate_python(value)

    def get_samples(self) -> dict[str, RolloutSample]:
        """Return the samples by source name."""
        return self.samples

    def set_sample_reward(self, sample_id: str, reward: Any) -> None:
        """Set the reward of one of several samples; the row's reward is their mean. Raises ValueError: unknown name."""
        if sample_id not in self.samples:
            raise ValueError(f"there is no sample {sample_id!r}; there are: {', '.join(self.samples) or 'none'}")
        self.samples[sample_id].reward = reward


def _named(sample: RolloutSample | None) -> dict[str, RolloutSample]:
    return {} if sample is None else {sample.id or "main": sample}
