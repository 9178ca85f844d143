"""The parts keep what mesocosm asks of every part of their kind."""

from collections.abc import Callable

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.run import BenchmarkRef
from mesocosm.core.task import Task
from mesocosm.testing import contract

from my_plugin.agent import VoteAgent, open_vote
from my_plugin.grader import PrefixGrader
from my_plugin.model import Parrot
from my_plugin.source import GuessBenchmark, open_guess


class TestParrot(contract.ModelContract):
    def model(self) -> Parrot:
        return Parrot("parrot/any")


class TestVote(contract.AgentContract):
    def agent(self) -> VoteAgent:
        return open_vote({"votes": 3})


class TestPrefix(contract.GraderContract):
    label, right, wrong = "Paris", "Paris, in France", "It is Paris"

    def grader(self) -> PrefixGrader:
        return PrefixGrader()


class TestGuess(contract.SourceContract):
    def source(self) -> Callable[[BenchmarkRef], GuessBenchmark]:
        return open_guess

    def ref(self) -> BenchmarkRef:
        return BenchmarkRef("guess", "10")

    def other(self) -> BenchmarkRef:
        return BenchmarkRef("guess", "20")

    def episode(self, task: Task) -> Episode:
        return Episode("e", "r", task.digest(), task.id, status=EpisodeStatus.COMPLETED, total_reward=1.0)
