"""Tasks of lm-evaluation-harness: every value of every document, and every number, is that of its own runner."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.guests import lm_eval_lab as lab

import mesocosm as mc
from mesocosm.core.episode import Episode
from mesocosm.testing.model_server import ModelServer

pytestmark = pytest.mark.skipif(
    not lab.installed(), reason=f"{lab.VARIABLE} names no folder with lm-evaluation-harness"
)


@dataclass(frozen=True)
class Both:
    """One set of tasks, played here and by the harness with the same answers."""

    run: mc.Run
    ours: dict[str, Episode]
    theirs: Any
    asked: list[Any]
    """What the model's server was asked."""

    def value(self, task: str, doc: str, key: str) -> float | None:
        """Return our value of a document, also one that is only kept for the number of all documents."""
        episode = self.ours[f"{task}/{doc}"]
        kept = episode.terminal_info.get("whole", {}).get("values", {})
        scores = {score.name: score.value for score in episode.scores}
        found: float | None = kept.get(key, scores.get(f"{task}/{key}"))
        return found


def _both(place: Path, names: tuple[str, ...], *, chat: bool, **params: Any) -> Both:
    lab.folder(place)
    before, variables = Path.cwd(), dict(os.environ)
    os.chdir(place)
    os.environ |= {"MESOCOSM_RESULTS_DIR": str(place / "results"), "OPENAI_API_KEY": "sk-of-the-test-0123456789"}
    try:
        with ModelServer(lab.say) as server:
            run = lab.play(f"lm-eval:{','.join(names)}", f"openai/m@{server.openai_url}", **params)
            asked = [json.loads(call.raw) for call in server.calls]
        ours = lab.episodes(run)
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ |= variables
    return Both(run, ours, lab.original(place, names, lab.answers_of(ours), chat=chat), asked)


@pytest.fixture(scope="module", params=["texts", "probabilities"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    place = tmp_path_factory.mktemp("lm-eval")
    if request.param == "texts":
        yield _both(place, lab.CHATS, chat=True)
    else:
        yield _both(place, lab.TEXTS, chat=False, prefix_token="<s>")


def _key(metric: str, filters: str) -> str:
    return metric if filters == "none" else f"{metric},{filters}"


def test_every_document_has_the_values_of_the_harness(both: Both) -> None:
    compared = 0
    for task, documents in both.theirs["samples"].items():
        for doc, filters in documents.items():
            for name, values in filters.items():
                for metric, value in values.items():
                    ours = both.value(task, doc, _key(metric, name))
                    assert ours == (None if value == "nan" else value), (task, doc, metric, name)
                    compared += 1
    assert compared == (45 if "lm_vote" in both.theirs["samples"] else 57)


def test_every_number_of_a_task_and_group_is_that_of_the_harness(both: Both) -> None:
    numbers = {name: float(value) for name, value in both.run.metrics.items()}
    compared = 0
    for task, results in both.theirs["results"].items():
        for key, value in results.items():
            if "," in key and "_stderr" not in key:
                assert numbers[f"{task}/{key.removesuffix(',none')}"] == pytest.approx(value, abs=1e-9), (task, key)
                compared += 1
    assert compared >= 9


def test_a_number_that_is_no_mean_of_documents_has_no_interval(both: Both) -> None:
    name = "lm_translation/bleu" if "lm_translation/bleu" in both.run.metrics else "lm_judgement/mcc"
    found = both.run.metrics[name]
    assert (found.low, found.high) == (None, None)


def test_the_model_is_asked_what_the_harness_asks(both: Both) -> None:
    if "lm_vote" in both.theirs["samples"]:
        theirs = sorted(args[0] for key, args in both.theirs["asked"].items() if not key.startswith("lm_vote"))
        repeated = [args[0] for key, args in both.theirs["asked"].items() if key.startswith("lm_vote")]
        ours = sorted(json.dumps(body["messages"], ensure_ascii=False) for body in both.asked)
        assert ours == sorted([*theirs, *repeated * 3])
    else:
        theirs = sorted(
            {"".join(args) if args[0] or len(args) > 1 else args[0] for args in both.theirs["asked"].values()}
        )
        prompts = {body["prompt"].removeprefix("<s>") for body in both.asked if "logprobs" in body and len(body) > 3}
        assert {text for text in theirs if text} <= prompts


@pytest.mark.parametrize("both", ["texts"], indirect=True)
def test_what_ends_a_text_reaches_the_model(both: Both) -> None:
    stops = {json.dumps(body.get("stop")) for body in both.asked}
    assert stops == {'["\\n\\n", "Question:"]', '["\\n"]', "null"}
