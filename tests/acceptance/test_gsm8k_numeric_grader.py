"""The graders numeric and math give recorded completions of two models the verdicts of their publisher, each of them.

The data is no part of the project: the test is skipped where the folder `shared/data` does not lie beside it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from mesocosm.rollouts.graders.catalogue import open_grader
from mesocosm.rollouts.sdk.context import GraderContext
from mesocosm.rollouts.sdk.sample import RolloutSample

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "gsm8k"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the published data is not at {DATA}")


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


@needs_data
@pytest.mark.parametrize(("use", "after"), [("numeric", "A:"), ("numeric", ""), ("math", "")])
@pytest.mark.parametrize(
    ("name", "correct"), [("recorded_6b_finetuning.jsonl", 286), ("recorded_175b_finetuning.jsonl", 458)]
)
async def test_every_verdict_is_the_publishers(name: str, correct: int, use: str, after: str) -> None:
    labels = [row["answer"] for row in rows("test.jsonl")]
    grader = open_grader(use, {"after": after, "label_after": "####"})
    rewards, published = [], []
    for row in rows(name):
        reply = {"role": "assistant", "content": row["completion"]}
        context = GraderContext(label=labels[row["row"]], sample=RolloutSample(messages=[reply]))
        await grader.grade(context)
        assert context.sample is not None
        rewards.append(context.sample.reward)
        published.append(float(row["is_correct"]))
    assert rewards == published
    assert (sum(published), len(published)) == (correct, 1319)
