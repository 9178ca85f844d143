"""Code and a dataset of a workspace that an evaluation with a built-in model can run on."""

import asyncio
import hashlib

from mesocosm.core.ids import digest_bytes
from mesocosm.core.snapshot import SnapshotFile
from mesocosm.server import adapters
from mesocosm.server.service import Service
from mesocosm.server.workers.dataset_checks import check_dataset_version
from mesocosm.store.datasets import DatasetFile

CONFIG = """
[experiment]
rollout = "sums"
entrypoint = "main.py"
model_path = "builtin/random"
dataset = "sums"

[evaluation]
limit = "all"
"""
ROWS = b'{"user_prompt": "what is 1 + 1?", "ground_truth": "2"}\n'


def add_code(service: Service, configuration: str, config: str = CONFIG) -> str:
    """Store a workspace directory with one configuration, and return the digest of the snapshot."""
    adapters.bind(service)
    contents = {"rollouts/sums/main.py": b"pass\n", configuration: config.encode()}
    listed = [SnapshotFile(name, digest_bytes(data), len(data)) for name, data in contents.items()]
    return service.store.snapshots.add(listed, lambda file: contents[file.path]).digest


def add_dataset(service: Service, workspace: str, user_id: int | None = None) -> None:
    """Upload the dataset, and check it."""
    store, digest = service.store.datasets, hashlib.sha256(ROWS).hexdigest()
    file = DatasetFile(name="sums", file_name="sums.jsonl", format="jsonl", size=len(ROWS), digest=digest)
    version = store.begin(workspace, file, by=user_id, most_bytes=10**6).version
    assert version is not None
    store.add_part(version, 1, ROWS)
    store.submit(version)
    claimed = store.claim_check("worker", 60.0)
    assert claimed is not None
    asyncio.run(check_dataset_version(service, claimed))
