"""Environments that a platform hosts, as benchmarks: kind `hosted`. Start reading at `opening`."""

from mesocosm.platform.hosted.benchmark import HostedBenchmark
from mesocosm.platform.hosted.hosts import Hosts
from mesocosm.platform.hosted.opening import open_hosted, use

__all__ = ["HostedBenchmark", "Hosts", "open_hosted", "use"]
