"""What a benchmark, an environment or a model may do besides what core.ports asks of it.

Each is a protocol of its own: who could use an ability looks for it with `isinstance`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from mesocosm.core.episode import Episode
from mesocosm.core.ports import Environment, JudgeModel
from mesocosm.core.run import Selection
from mesocosm.core.score import Score, WholeNumber
from mesocosm.core.task import Task


@runtime_checkable
class AsksJudge(Protocol):
    """A benchmark whose graders may ask a model."""

    async def grade_with(self, task: Task, episode: Episode, judge: JudgeModel) -> Sequence[Score]:
        """Return the scores of an episode as `grade` does; called in place of it while the episode is recorded."""
        ...


@runtime_checkable
class ByTrial(Protocol):
    """A benchmark whose episodes depend on the repetition: another seat, a sample of its own."""

    async def environment_of(self, task: Task, episode_id: str, trial: int) -> Environment:
        """Return the environment of one repetition of a task; called in place of `environment`."""
        ...


@runtime_checkable
class Opposed(Protocol):
    """An environment in which a second model may play too: the run's judge, else the run's model."""

    def oppose(self, opponent: JudgeModel) -> None:
        """Take the model that plays the opponent; called before `reset`."""
        ...


@runtime_checkable
class Growing(Protocol):
    """A benchmark with `growing` in its info: it finds more tasks while it runs."""

    def tasks_of(self, selection: Selection, trial: int) -> Iterator[Task]:
        """Yield the tasks of one repetition, in place of `tasks`.

        Tasks that an earlier one leads to follow it; they are looked for only when the iterator reaches them.
        """
        ...


@runtime_checkable
class MeasuresWhole(Protocol):
    """A benchmark with numbers of a run that are no means of its episodes."""

    @property
    def has_whole(self) -> bool:
        """Whether this benchmark has any."""
        ...

    def whole(self, infos: Iterable[Mapping[str, Any]]) -> Sequence[WholeNumber]:
        """Return them, given the terminal infos of all scored episodes; called in a thread, before `close`.

        Raises EpisodeError.
        """
        ...


@runtime_checkable
class Warns(Protocol):
    """A benchmark or a model that can report doubts about the results of a run."""

    def warnings(self) -> Sequence[str]:
        """Return warnings for readers of the results. Called after all episodes have run; may read files."""
        ...


@runtime_checkable
class HoldsSecrets(Protocol):
    """A benchmark that gets secrets when it opens, which this process's variables do not have."""

    def secrets(self) -> Collection[str]:
        """Return the texts that must not be recorded. Called after `open`, also if that failed."""
        ...


@runtime_checkable
class Pausable(Protocol):
    """A benchmark that lends its resources to others while no episode can run."""

    def pause(self, paused: bool) -> None:
        """Report that an endpoint which the run needs does not respond, or that all of them respond again."""
        ...
