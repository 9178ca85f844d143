"""The acceptance script of the hosted service's program against a server of ours.

It is no part of the project: the test is skipped where the folder `shared` does not lie beside it.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.osmosis.conftest import MODEL, REPOSITORY, ROLLOUT, WORKSPACE, Program

BESIDE = Path(__file__).parents[2].parent / "shared" / "acceptance" / "accept_osmosis_cli.py"
SCRIPT = Path(os.environ.get("MESOCOSM_TEST_ACCEPTANCE") or BESIDE)
PATIENCE = 400.0
STEPS = 36


@pytest.mark.skipif(not SCRIPT.is_file(), reason="the acceptance script does not lie beside the repository")
def test_the_program_works_with_a_server_of_ours(osmosis: Program) -> None:
    words: list[str | Path] = ["--osmosis", osmosis.path, "--url", osmosis.server.url, "--token", osmosis.token]
    words += ["--rollout-dir", ROLLOUT, "--model", MODEL, "--workspace", WORKSPACE, "--repo", REPOSITORY]
    osmosis.server.release.clear()
    try:
        done = subprocess.run(
            [sys.executable, SCRIPT, *words, "--wait", "120"],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    finally:
        osmosis.server.release.set()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok   osmosis") == STEPS
