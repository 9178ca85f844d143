"""Environments that a platform hosts, as benchmarks: kind `hosted`. Start reading at `opening`."""

from mesocosm.server.adapters.benchmark import HostedBenchmark
from mesocosm.server.adapters.hosts import Hosts
from mesocosm.server.adapters.opening import open_hosted, use

__all__ = ["HostedBenchmark", "Hosts", "open_hosted", "use"]
