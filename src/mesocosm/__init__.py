"""Evaluate agents and language models in environments, on datasets and on whole benchmarks.

>>> import mesocosm as mc
>>> rows = [{"question": "1 + 1?", "answer": "2"}, {"question": "2 + 2?", "answer": "4"}]
>>> mc.evaluate(rows, prompt="{question}", grader="numeric", model="builtin/oracle").score
1.0000 [0.3424, 1.0000] n=2/2

Every name here is stable: see docs/releases.md. Everything else may change in any release.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

if TYPE_CHECKING:
    from mesocosm import testing
    from mesocosm.api.answering import Context
    from mesocosm.api.comparing import Comparison, asweep, compare, sweep
    from mesocosm.api.definitions import Benchmark, Limits, benchmark
    from mesocosm.api.evaluate import aevaluate, evaluate
    from mesocosm.api.files import import_runs
    from mesocosm.api.planning import Plan, list_benchmarks, plan
    from mesocosm.api.results import Episode, GateFailed, Run, Runs, get_run, runs
    from mesocosm.api.values import Value
    from mesocosm.api.viewing import view
    from mesocosm.api.waiting import Interrupted
    from mesocosm.core.failure import InfrastructureError, MesocosmError, RunAborted, UsageError
    from mesocosm.core.score import Metric, Score
    from mesocosm.core.task import Task
    from mesocosm.environments.sdk import BaseEnv as Environment
    from mesocosm.environments.sdk import StepResult
    from mesocosm.rollouts import graders
    from mesocosm.rollouts.sdk import AgentWorkflow, AgentWorkflowContext, AgentWorkflowOutput, Grader, GraderContext

_PLACES = {
    "api.answering": ("Context",),
    "api.comparing": ("Comparison", "asweep", "compare", "sweep"),
    "api.definitions": ("Benchmark", "Limits", "benchmark"),
    "api.evaluate": ("aevaluate", "evaluate"),
    "api.files": ("import_runs",),
    "api.planning": ("Plan", "list_benchmarks", "plan"),
    "api.results": ("Episode", "GateFailed", "Run", "Runs", "get_run", "runs"),
    "api.values": ("Value",),
    "api.viewing": ("view",),
    "api.waiting": ("Interrupted",),
    "core.failure": ("InfrastructureError", "MesocosmError", "RunAborted", "UsageError"),
    "core.score": ("Metric", "Score"),
    "core.task": ("Task",),
    "environments.sdk": ("Environment", "StepResult"),
    "rollouts": ("graders",),
    "rollouts.sdk": ("AgentWorkflow", "AgentWorkflowContext", "AgentWorkflowOutput", "Grader", "GraderContext"),
    "": ("testing",),
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}
_RENAMED = {"Environment": "BaseEnv"}

__all__ = [
    "AgentWorkflow",
    "AgentWorkflowContext",
    "AgentWorkflowOutput",
    "Benchmark",
    "Comparison",
    "Context",
    "Environment",
    "Episode",
    "GateFailed",
    "Grader",
    "GraderContext",
    "InfrastructureError",
    "Interrupted",
    "Limits",
    "MesocosmError",
    "Metric",
    "Plan",
    "Run",
    "RunAborted",
    "Runs",
    "Score",
    "StepResult",
    "Task",
    "UsageError",
    "Value",
    "__version__",
    "aevaluate",
    "asweep",
    "benchmark",
    "compare",
    "evaluate",
    "get_run",
    "graders",
    "import_runs",
    "list_benchmarks",
    "plan",
    "runs",
    "sweep",
    "testing",
    "view",
]


if not TYPE_CHECKING:  # else any name would be taken for one that exists

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used (PEP 562): `import mesocosm` alone loads nothing."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'mesocosm' has no attribute {name!r}")
        import importlib

        module = _MODULE_OF[name]
        if not module or name == "graders":
            found: Any = importlib.import_module(".".join(filter(None, ("mesocosm", module, name))))
        else:
            found = getattr(importlib.import_module(f"mesocosm.{module}"), _RENAMED.get(name, name))
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted(__all__)
