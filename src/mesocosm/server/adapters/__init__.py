"""Environments of a server as benchmarks of kind `hosted`. Start reading at `benchmark`."""

from mesocosm.server.adapters.benchmark import HostedBenchmark, bind, open_hosted
from mesocosm.server.adapters.pool import AdapterPool

__all__ = ["AdapterPool", "HostedBenchmark", "bind", "open_hosted"]
