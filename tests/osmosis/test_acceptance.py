"""The acceptance script of the hosted service's program against a server of ours.

It is no part of the project: the test is skipped where the folder `shared` does not lie beside it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.osmosis.conftest import MODEL, REPOSITORY, ROLLOUT, WORKSPACE, Program

BESIDE = Path(__file__).parents[2].parent / "shared" / "acceptance" / "accept_osmosis_cli.py"
SCRIPT = Path(os.environ.get("MESOCOSM_TEST_ACCEPTANCE") or BESIDE)
PATIENCE = 400.0

MISSING = (
    "eval submit",
    "eval list",
    "eval stop",
    "eval logs",
    "eval info",
    "eval download",
    "eval retry",
    "--workspace",
)
"""Steps that the server does not pass yet."""


@pytest.mark.skipif(not SCRIPT.is_file(), reason="the acceptance script does not lie beside the repository")
def test_the_program_works_with_a_server_of_ours(osmosis: Program) -> None:
    words: list[str | Path] = ["--osmosis", osmosis.path, "--url", osmosis.server.url, "--token", osmosis.token]
    words += ["--rollout-dir", ROLLOUT, "--model", MODEL, "--workspace", WORKSPACE, "--repo", REPOSITORY]
    done = subprocess.run(
        [sys.executable, SCRIPT, *words, "--wait", "120"], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    print(done.stdout, done.stderr)
    failed = re.findall(r"^FAIL osmosis (.*)", done.stdout, re.MULTILINE)
    assert [one for one in failed if not one.startswith(MISSING)] == []
