"""A built-in benchmark on a server, with versions of datasets of a workspace in place of paths."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mesocosm.benchmarks.opening import KIND
from mesocosm.core.failure import UnknownName
from mesocosm.core.ports import Benchmark
from mesocosm.core.registry import SOURCES
from mesocosm.core.run import BenchmarkRef
from mesocosm.server.evaluations.content import dataset_file
from mesocosm.server.service import Service
from mesocosm.store.datasets import DatasetState


class DatasetInUse(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A version of a dataset of a workspace, and the dataset's name when a run was submitted."""

    id: str
    version: int
    name: str


class HostedSuite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A built-in benchmark as part of the options of the kind `hosted`: its folder, its parameters, and datasets.

    `datasets` are for parameters that are paths elsewhere.
    """

    folder: str
    parameters: dict[str, Any] = {}
    datasets: dict[str, DatasetInUse] = {}


def open_hosted_suite(service: Service, suite: HostedSuite) -> Benchmark:
    """Return the benchmark. Raises UsageError, UnknownName if a dataset was deleted, InfrastructureError."""
    parameters = {**suite.parameters, **_files(service, suite.datasets)}
    opened: Benchmark = SOURCES.get(KIND)(BenchmarkRef(KIND, suite.folder, {"parameters": parameters}))
    return opened


def _files(service: Service, datasets: Mapping[str, DatasetInUse]) -> dict[str, str]:
    found = {}
    for parameter, used in datasets.items():
        version = service.store.datasets.version(used.id, used.version)
        if version is None or version.state is not DatasetState.UPLOADED:
            raise UnknownName(
                f"version {used.version} of the dataset {used.name!r} is not there any more; submit the run with "
                "another one"
            )
        found[parameter] = str(dataset_file(service, version))
    return found
