"""What every plug-in must hold, as test classes for pytest: one for each part that a package can add.

Subclass the class of your part, say how to make it, and pytest runs the tests of the contract::

    from mesocosm.testing import contract

    class TestEcho(contract.ModelContract):
        def model(self):
            return open_model(ModelSettings("echo/any"))

The tests need pytest and nothing else; coroutines run in an event loop of their own. The built-in parts are held to
the same classes.
"""

import pytest

# Before they are imported: failed assertions show their values, as in tests.
pytest.register_assert_rewrite(
    "mesocosm.testing.contract.agent",
    "mesocosm.testing.contract.benchmark",
    "mesocosm.testing.contract.environment",
    "mesocosm.testing.contract.executor",
    "mesocosm.testing.contract.grader",
    "mesocosm.testing.contract.model",
    "mesocosm.testing.contract.sandbox",
    "mesocosm.testing.contract.source",
    "mesocosm.testing.contract.technique",
)

from mesocosm.testing.contract.agent import AgentContract  # noqa: E402
from mesocosm.testing.contract.benchmark import BenchmarkContract  # noqa: E402
from mesocosm.testing.contract.environment import EnvironmentContract  # noqa: E402
from mesocosm.testing.contract.executor import ExecutorContract  # noqa: E402
from mesocosm.testing.contract.grader import GraderContract  # noqa: E402
from mesocosm.testing.contract.model import ModelContract  # noqa: E402
from mesocosm.testing.contract.sandbox import SandboxContract  # noqa: E402
from mesocosm.testing.contract.source import SourceContract  # noqa: E402
from mesocosm.testing.contract.technique import TechniqueContract  # noqa: E402

__all__ = [
    "AgentContract",
    "BenchmarkContract",
    "EnvironmentContract",
    "ExecutorContract",
    "GraderContract",
    "ModelContract",
    "SandboxContract",
    "SourceContract",
    "TechniqueContract",
]
