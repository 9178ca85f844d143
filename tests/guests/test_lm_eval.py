"""Tasks of lm-evaluation-harness under the promises of the engine."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.guests import lm_eval_lab as lab

import mesocosm as mc
from mesocosm.core.failure import Incompatible, UsageError
from mesocosm.testing.fault import Fault
from mesocosm.testing.model_server import ModelServer

pytestmark = pytest.mark.skipif(
    not lab.installed(), reason=f"{lab.VARIABLE} names no folder with lm-evaluation-harness"
)


@pytest.fixture(autouse=True)
def tasks(place: Path) -> Path:
    return lab.folder(place)


async def play(source: str, server: ModelServer, **given: Any) -> mc.Run:
    params = {"python": lab.python(), "include_path": ".", **given.pop("params", {})}
    model = f"openai/m@{server.openai_url}"
    return await mc.aevaluate(f"lm-eval:{source}", model=model, params=params, progress=False, **given)


def guests() -> list[int]:
    """Return the processes that this one has started and that speak for the harness."""
    found = []
    for task in Path("/proc/self/task").glob("*/children"):
        for child in task.read_text().split():
            line = Path(f"/proc/{child}/cmdline")
            if line.exists() and b"lm_eval_tasks" in line.read_bytes():
                found.append(int(child))
    return found


async def test_what_a_task_cannot_score_is_missing_with_its_cause() -> None:
    answers = iter(["4", "broken", "no number"])
    async with ModelServer(lambda _: next(answers, "6")) as server:
        run = await play("lm_custom", server, parallel=1)
    assert run.missing == {"grader_error": 1, "value_unusable": 1}
    assert run.score is not None
    assert run.score.n == 4


async def test_documents_that_the_first_metric_does_not_cover_are_skipped_and_no_errors() -> None:
    async with ModelServer("6") as server:
        run = await play("lm_generate,lm_translation", server)
    assert {episode.task.partition("/")[0] for episode in run.episodes()} == {"lm_generate", "lm_translation"}
    assert run.missing == {}
    assert run.score is not None
    assert run.score.n == sum(episode.task.startswith("lm_generate/") for episode in run.episodes())
    assert run._stored.counts.errors == 0


async def test_choices_are_asked_with_letters_under_another_name() -> None:
    async with ModelServer("The answer is B.", echoes=False) as server:
        run = await play("lm_choice", server, params={"choices": "generate"})
    assert run.benchmark == "lm-eval/lm_choice.generated"
    assert {name: float(value) for name, value in run.metrics.items()} == {"acc_generated": 0.4}


async def test_a_server_without_probabilities_is_incompatible_before_anything_is_asked() -> None:
    async with ModelServer(echoes=False) as server:
        with pytest.raises(Incompatible, match="choices=generate"):
            await play("lm_choice", server)
        assert len(server.calls) == 1


async def test_texts_that_nothing_stands_before_are_missing_and_the_remedy_is_named() -> None:
    async with ModelServer() as server:
        run = await play("lm_rolling", server)
    assert run.missing == {"value_missing": 3}
    assert "prefix_token" in next(iter(run.episodes())).error


async def test_a_text_that_is_too_long_is_missing_and_the_remedy_is_named() -> None:
    async with ModelServer(context=30) as server:
        run = await play("lm_rolling", server, params={"prefix_token": "<s>"})
    assert run.missing == {"value_missing": 2}
    assert "tokenizer=NAME" in next(iter(run.episodes())).error


@pytest.mark.parametrize(
    ("source", "params", "said"),
    [
        ("lm_choice", {"max_length": 50}, "name the tokenizer"),
        ("lm_choice", {"tokenizer": "x", "prefix_token": "<s>"}, "custom_prefix_token_id"),
        ("lm_choic", {}, "there is no task called 'lm_choic'; did you mean lm_choice"),
        ("lm_choice", {"chioces": "generate"}, "there is no argument 'chioces'; did you mean choices"),
        ("lm_ending", {"choices": "generate"}, "lm_ending asks how probable texts are, without choices"),
    ],
)
async def test_a_wrong_word_is_one_sentence(source: str, params: Any, said: str) -> None:
    async with ModelServer() as server:
        with pytest.raises(UsageError) as caught:
            await play(source, server, params=params)
    assert said in str(caught.value)
    assert "Traceback" not in str(caught.value)


async def test_an_outage_of_the_model_is_never_a_score() -> None:
    async with ModelServer("4", faults=[None, None, *[Fault(status=401)] * 50]) as server:
        run = await play("lm_generate", server, parallel=1)
    assert run.status == "failed"
    assert run.score is None or run.score.n == 2


async def test_a_guest_that_is_killed_is_started_again_and_finished_documents_are_not_asked_again() -> None:
    killed: list[int] = []
    before = set(guests())

    def kill(_: Any) -> None:
        if not killed:
            killed.extend(set(guests()) - before)
            os.kill(killed[0], signal.SIGKILL)

    async with ModelServer(lab.say) as server:
        run = await play("lm_generate", server, parallel=1, on_episode=kill)
        asked = len(server.calls)
    assert killed
    assert run.score is not None
    assert [run.status, run.score.n] == ["finished", 6]
    # At most the document that was in flight is asked twice.
    assert asked <= 7
    assert set(guests()) <= before


async def test_after_a_kill_of_this_program_the_same_call_goes_on(tmp_path: Path) -> None:
    async with ModelServer(lab.say) as server:
        script = tmp_path / "run.py"
        script.write_text(
            f"""
import os, signal, sys
import mesocosm as mc
ended = []
def kill(episode):
    ended.append(episode)
    if len(ended) == 2 and "kill" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
params = {{"python": {lab.python()!r}, "include_path": "."}}
model = "openai/m@{server.openai_url}"
run = mc.evaluate("lm-eval:lm_generate", model=model, params=params, parallel=1, on_episode=kill, progress=False)
print(run.status, run.score.n)
"""
        )
        killed = await asyncio.create_subprocess_exec(sys.executable, str(script), "kill")
        assert await killed.wait() == -signal.SIGKILL
        again = await asyncio.create_subprocess_exec(sys.executable, str(script), stdout=asyncio.subprocess.PIPE)
        said, _ = await again.communicate()
        asked = len(server.calls)
    assert said.decode().split() == ["finished", "6"]
    assert asked <= 7


async def test_names_are_read_once_and_kept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
    async with ModelServer(lab.say) as server:
        await play("lm_custom", server, limit=1)
        (kept,) = (place / "cache" / "mesocosm" / "lm-eval").iterdir()
        written = kept.stat().st_mtime_ns
        await play("lm_generate", server, limit=1)
    assert kept.stat().st_mtime_ns == written
