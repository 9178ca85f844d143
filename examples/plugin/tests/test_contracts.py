"""The parts keep what mesocosm asks of every part of their kind."""

from mesocosm.testing import contract

from my_plugin.agent import VoteAgent, open_vote
from my_plugin.grader import PrefixGrader
from my_plugin.model import Parrot


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
