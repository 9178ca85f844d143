"""The kind of runs of scans on this machine, which only their command continues."""

import shlex

from mesocosm.core.failure import UsageError
from mesocosm.core.ports import Benchmark
from mesocosm.core.run import BenchmarkRef


def open_scan(ref: BenchmarkRef) -> Benchmark:
    """Refuse to open a scan by a stored reference: what it reads is chosen by the command. Raises UsageError."""
    question = str(ref.options.get("question", "…"))
    raise UsageError(
        f"a scan is continued by its command, which asks only what is pending: mesocosm scan {ref.source} --ask "
        f"{shlex.quote(question)}"
    )
