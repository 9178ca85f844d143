"""gsm8k as a rollout: recorded answers of two models, the numeric grader, and the comparison of the two.

Skipped where the published data does not lie beside the checkout.
"""

import json
import shutil
from pathlib import Path

import pytest

from mesocosm.cli.main import call

DATA = Path(__file__).parents[3] / "shared" / "data" / "gsm8k"
ROLLOUTS = Path(__file__).with_name("rollouts")
CONFIG = """
[experiment]
rollout = "once"
entrypoint = "main.py"
model_path = "replay/{recorded}"
dataset = "{dataset}"

[evaluation]
limit = "all"
batch_size = 16

[dataset.columns]
user_prompt = "question"
ground_truth = "answer"

[grader]
use = "numeric"
after = "A:"
label_after = "####"
"""

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the published data is not beside the checkout")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a workspace with a rollout that asks its model once, and a configuration for each recording."""
    shutil.copytree(ROLLOUTS, tmp_path / "rollouts")
    configs = tmp_path / "configs" / "eval"
    configs.mkdir(parents=True)
    for name in ("6b", "175b"):
        recorded = DATA / f"recorded_{name}_finetuning.jsonl"
        (configs / f"{name}.toml").write_text(CONFIG.format(recorded=recorded, dataset=DATA / "test.jsonl"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluated(capsys: pytest.CaptureFixture[str], name: str) -> dict[str, object]:
    """Run a configuration by one command and return its document."""
    capsys.readouterr()
    words = ["eval", "run-local", f"configs/eval/{name}.toml", "--name", name, "--in-process", "--json", "--quiet"]
    assert call(words) == 0
    found = json.loads(capsys.readouterr().out)["data"]
    assert isinstance(found, dict)
    return found


@pytest.mark.usefixtures("workspace")
def test_recorded_answers_get_their_published_scores_and_differ_row_by_row(capsys: pytest.CaptureFixture[str]) -> None:
    for name, passed in (("6b", 286), ("175b", 458)):
        found = evaluated(capsys, name)
        summary = found["summary"]
        assert isinstance(summary, dict)
        assert (summary["graded"], summary["passed"]) == (1319, passed)
        assert summary["avg_reward"] == pytest.approx(passed / 1319)
    assert call(["compare", "6b", "175b", "--json"]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["benchmarks"][0]["pairs"]
    assert pair["delta"] == pytest.approx((458 - 286) / 1319)
    assert 0 < pair["low"] < pair["delta"] < pair["high"]
    flipped = pair["flipped_tasks"]
    assert len(flipped) == pair["tasks"]["flipped"]
    assert sum(one["b"] - one["a"] for one in flipped) == 458 - 286
    assert {int(one["task"]) for one in flipped} <= set(range(1319))
