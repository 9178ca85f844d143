"""The result of `bench`."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench_common.core.run import Episode

_NAME = 12
_VALUE = 24
_WIDTH = 4 + _NAME + _VALUE


@dataclass
class BenchResult:
    """The episodes of a run and its numbers; `str` gives a box of 40 columns.

    `scores` has every metric that has a value. `run_id` is for `mesocosm run show` and `run export`, which also show
    intervals and missing values.
    """

    model: str
    domain_id: str
    num_episodes: int
    episodes: "list[Episode]"
    elapsed_seconds: float
    scores: dict[str, float] = field(default_factory=dict)
    run_id: str = ""

    @property
    def completed(self) -> int:
        """Episodes that the environment ended."""
        return self._count("completed")

    @property
    def truncated(self) -> int:
        """Episodes that reached their step or time limit."""
        return self._count("truncated", "timeout")

    @property
    def failed(self) -> int:
        """Episodes that failed or were cancelled."""
        return self._count("failed", "cancelled")

    @property
    def avg_reward(self) -> float:
        """Mean total reward of the scoreable episodes; 0 if there are none."""
        return _mean([episode.total_reward for episode in self._scoreable()])

    @property
    def avg_steps(self) -> float:
        """Mean number of steps of the scoreable episodes; 0 if there are none."""
        return _mean([float(episode.steps) for episode in self._scoreable()])

    def __str__(self) -> str:
        rows = [
            ("model", self.model),
            ("domain", self.domain_id),
            ("episodes", f"{self.completed + self.truncated}/{self.num_episodes} scoreable"),
            ("avg reward", f"{self.avg_reward:.4f}"),
            ("avg steps", f"{self.avg_steps:.2f}"),
            ("wall time", f"{self.elapsed_seconds:.1f} s"),
            *((name, f"{value:.4f}") for name, value in self.scores.items()),
        ]
        if self.failed:
            rows.append(("failed", str(self.failed)))
        # ASCII only: Windows consoles cannot encode box-drawing characters.
        edge = f"+{'-' * (_WIDTH - 2)}+"
        lines = (f"| {name[:_NAME]:<{_NAME}} {value[:_VALUE]:<{_VALUE}}|" for name, value in rows)
        return "\n".join([edge, *lines, edge])

    def _scoreable(self) -> "list[Episode]":
        return [episode for episode in self.episodes if episode.status in ("completed", "truncated", "timeout")]

    def _count(self, *statuses: str) -> int:
        return sum(episode.status in statuses for episode in self.episodes)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
