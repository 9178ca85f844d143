"""Opens solana: the gym itself, or recorded runs of it."""

from mesocosm.benchmarks.builtin.solana.log import read_log
from mesocosm.benchmarks.command import CommandBenchmark
from mesocosm.benchmarks.items import ItemsFile
from mesocosm.benchmarks.recorded import RecordedBenchmark
from mesocosm.benchmarks.setup import BenchmarkSetup
from mesocosm.core.failure import UsageError
from mesocosm.core.ports import Benchmark


class RecordedSolana(RecordedBenchmark):
    """Scores recorded runs."""

    def read(self) -> ItemsFile:
        """Return the recorded runs. Raises UsageError."""
        path = self.setup.path("log_path")
        if path is None:
            raise UsageError("solana: log_path is not set, so there is nothing recorded to be scored")
        return read_log(path)


def open_benchmark(setup: BenchmarkSetup) -> Benchmark:
    """Return the benchmark for these parameters."""
    return RecordedSolana(setup) if setup.parameters.get("log_path") else CommandBenchmark(setup)
