"""Clusters of Ray with several nodes on this machine, and the processes of their actors."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STORE_BYTES = 128 * 1024 * 1024


class RayCluster:
    """A cluster whose head has no core; every other node has one."""

    def __init__(self) -> None:
        # Read when Ray is imported.
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "object_store_memory": STORE_BYTES, "include_dashboard": False}
        self.cluster: Any = Cluster(initialize_head=True, head_node_args=head)
        self.nodes: list[Any] = []

    @property
    def address(self) -> str:
        """Host and port of the head."""
        return str(self.cluster.address)

    def add(self) -> Any:
        """Add a node with one core, and return it."""
        node = self.cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES, include_dashboard=False)
        self.nodes.append(node)
        return node

    def remove(self, node: Any) -> None:
        """End a node at once, as if its machine had failed."""
        self.nodes.remove(node)
        self.cluster.remove_node(node, allow_graceful=False)


@contextmanager
def ray_cluster(nodes: int = 2) -> Iterator[RayCluster]:
    """Yield a cluster with some nodes, which `ray:auto` finds."""
    before = os.environ.get("RAY_ADDRESS")
    started = RayCluster()
    try:
        for _ in range(nodes):
            started.add()
        os.environ["RAY_ADDRESS"] = started.address
        yield started
    finally:
        if before is None:
            os.environ.pop("RAY_ADDRESS", None)
        else:
            os.environ["RAY_ADDRESS"] = before
        started.cluster.shutdown()


def processes_of_actors() -> set[int]:
    """Return the processes of actors that run or start, of all clusters that this process has started."""
    return {pid for pid, name in _descendants(os.getpid()) if name.startswith("ray::RayWorker")}


def _descendants(pid: int) -> Iterator[tuple[int, str]]:
    """Yield id and name of the processes that a process has started, and of those that they have started."""
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in thread.read_text().split()]
        except OSError:
            continue
        for child in children:
            try:
                yield child, Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            yield from _descendants(child)
