"""Calls the published runner as its command does; the command itself knows only Ollama at a fixed port.

python drive.py MODEL EPISODES PARALLEL ENV_URL
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench_common.cli.main import _adapter_port_from_env_url, _wait_for_adapter_health

from bench_common.env_sdk.manifest import domain_config_from_manifest
from bench_common.inference.bench import bench

MODEL, EPISODES, PARALLEL, URL = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]


async def play(domain: Any) -> Any:
    """Wait for the adapter and play the episodes."""
    await _wait_for_adapter_health(URL)
    return await bench(
        MODEL, domain.id, URL, EPISODES, max_parallel=PARALLEL, quiet=True, domain=domain, allow_any_model=True
    )


def main() -> None:
    """Start the adapter, play, print the score."""
    domain = domain_config_from_manifest(Path("benchanything.json").resolve(), domain_id=None, env_url=URL)
    command = [sys.executable, "adapter.py", "--port", str(_adapter_port_from_env_url(URL))]
    adapter = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        result = asyncio.run(play(domain))
    finally:
        adapter.terminate()
        adapter.wait()
    print(json.dumps({"scores": result.scores, "completed": result.completed}))


main()
