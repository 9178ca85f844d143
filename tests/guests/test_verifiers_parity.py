"""Scores of verifiers' own runner and ours on the same recorded replies."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

GUESTS = os.environ.get("MESOCOSM_TEST_GUESTS", "")
PYTHON = Path(GUESTS) / "verifiers" / "bin" / "python"
SUMS = Path(__file__).with_name("sources") / "sums_v1.py"
REPLIES = Path(__file__).with_name("recordings") / "verifiers" / "sums.jsonl"

pytestmark = pytest.mark.skipif(
    not GUESTS or not PYTHON.exists(), reason="MESOCOSM_TEST_GUESTS names no folder with verifiers/bin/python"
)


def parity(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    source = f"verifiers:{SUMS}"
    command = [sys.executable, "-m", "mesocosm", "parity", source, "--python", str(PYTHON), "--json", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_every_score_is_that_of_the_original(tmp_path: Path) -> None:
    done = parity(tmp_path, "--replies", str(REPLIES), "-P", "task={nan=5, raises=3}", "--trials", "2")

    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["equal"]
    samples = {(one["task"], one["trial"]): one for one in found["samples"]}
    assert len(samples) == 16
    assert samples["sum-0", 0]["theirs"]["scores"] == {"reward": -0.5, "right": 0.0, "long": 1.0, "length": 3.0}
    assert samples["sum-2", 1]["ours"]["scores"]["reward"] == 0.0
    assert "reward" not in samples["sum-5", 0]["ours"]["scores"]


def test_a_question_without_a_reply_is_no_comparison(tmp_path: Path) -> None:
    some = tmp_path / "some.jsonl"
    some.write_text(REPLIES.read_text().splitlines()[0] + "\n")

    done = parity(tmp_path, "--replies", str(some), "--limit", "2")

    assert done.returncode == 2
    assert "has no reply to 1 question" in done.stderr
