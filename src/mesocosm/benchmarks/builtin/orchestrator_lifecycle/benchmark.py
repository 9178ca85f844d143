"""Conversations about tasks, graded by the changes of the registry and by facts that only it reveals."""

from collections.abc import Sequence

import msgspec

from mesocosm.benchmarks.builtin.orchestrator_lifecycle.conversation import TURNS, LifecycleEnvironment, TurnActions
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.generator import generate
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.judging import judge
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.scenario import Scenario
from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark
from mesocosm.core.episode import Episode
from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest
from mesocosm.core.ports import Environment
from mesocosm.core.score import Score
from mesocosm.core.task import Task

CATEGORIES = {
    "capability": "capability_selection_rate",
    "clarification": "clarification_success_rate",
    "completion_summary": "completion_summary_quality",
    "intake": "intake_success_rate",
    "interrupt": "interruption_handling_rate",
    "recovery": "recovery_success_rate",
    "scope": "scope_change_success_rate",
    "status": "status_accuracy_rate",
}
"""The metric of each category."""


class OrchestratorLifecycle(NativeBenchmark):
    """Implements core.ports.Benchmark over scenarios."""

    def load(self) -> LoadedTasks:
        """Return one task for each scenario. Raises UsageError if the filter leaves none."""
        wanted = str(self.parameters.get("scenario_filter") or "").lower().replace("_", "-")
        scenarios = [
            scenario
            for scenario in generate(int(self.parameters.get("seed") or 0))
            if wanted in scenario.id.lower().replace("_", "-")
        ]
        if not scenarios:
            raise UsageError(f"orchestrator_lifecycle: no scenario's id holds {wanted!r} (parameter scenario_filter)")
        tasks = [_task(scenario) for scenario in scenarios]
        return LoadedTasks(tasks, digest([task.digest() for task in tasks]))

    def stratum(self, task: Task) -> str:
        """Return the intent, so that a small sample covers as many intents as possible."""
        return task.cluster or ""

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the environment of a scenario."""
        del episode_id
        return LifecycleEnvironment(msgspec.convert(task.target, Scenario))

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the score of the conversation, also under its category."""
        happened = msgspec.convert(episode.terminal_info.get(TURNS, []), list[TurnActions])
        verdict = judge(
            msgspec.convert(task.target, Scenario), happened, strict=self.parameters.get("strict") is not False
        )
        category = CATEGORIES[task.metadata["category"]]
        return [
            Score("score", verdict.score, explanation=verdict.explanation),
            Score("passed", float(verdict.passed)),
            Score("violations", float(verdict.violations)),
            Score(category, verdict.score),
        ]


def _task(scenario: Scenario) -> Task:
    return Task(
        id=scenario.id,
        input={"title": scenario.title, "message": scenario.turns[0].user},
        target=msgspec.to_builtins(scenario),
        cluster=scenario.intent,
        metadata={"category": scenario.category},
    )


open_benchmark = OrchestratorLifecycle
