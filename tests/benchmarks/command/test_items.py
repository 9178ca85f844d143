"""Items of foreign programs: each is an episode, whatever else befalls the run."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.ports import Observer, Progress
from mesocosm.core.run import BenchmarkRef, Run, RunStatus
from mesocosm.engine.metrics import so_far
from mesocosm.engine.opening import open_parts
from mesocosm.engine.rescoring import rescore

pytestmark = pytest.mark.usefixtures("forked")

COMMAND = """
[command]
argv = ["{python}", "program.py"]
items = "items.jsonl"
score = "mean"
"""
THREE = """
lines = [json.dumps({"id": n, "score": n / 2, "input": f"question {n}", "output": f"answer {n}"}) for n in range(3)]
lines.insert(1, '{"id": "broken')
write("items.jsonl", "\\n".join(lines) + "\\n")
"""


def alive(pid: str) -> bool:
    return Path(f"/proc/{pid}").exists()


async def written(path: Path) -> None:
    async with asyncio.timeout(120):
        while not (path.exists() and path.read_text()):  # noqa: ASYNC110, ASYNC240  (nobody here can tell)
            await asyncio.sleep(0.02)


def program(*records: dict[str, Any]) -> str:
    return f"write('items.jsonl', '\\n'.join(json.dumps(record) for record in {records!r}))"


async def test_three_items_and_a_broken_line(shop: Any) -> None:
    shop.describe(THREE, COMMAND)
    run = await shop.run()
    own, *items = shop.episodes(run)
    assert (run.status, run.primary.value, run.primary.n_planned, run.primary.n_scored) == ("finished", 0.5, 3, 3)
    assert run.primary.missing == {}
    assert run.counts.planned == run.counts.done == 4
    assert [episode.task_id for episode in items] == ["0", "1", "2"]
    assert [episode.scores[0].value for episode in items] == [0.0, 0.5, 1.0]
    assert own.scores == ()
    assert own.terminal_info["broken_items"] == 1
    assert any("line 2 is not an item" in warning for warning in run.warnings)


@pytest.mark.parametrize(
    ("item_list", "scored", "told"),
    [
        ("samples[*]", 2, "element 2 is not an item"),
        ("samples", 2, "element 2 is not an item"),
        ("nowhere[*]", 0, "holds no list of items at nowhere[*]"),
        ("n", 0, "holds no list of items at n, but 2"),
    ],
)
async def test_items_are_read_from_a_list_in_a_json_file(shop: Any, item_list: str, scored: int, told: str) -> None:
    items = [{"id": "a", "score": 1.0}, "b", {"id": "c", "score": 0.0}]
    command = COMMAND.replace('"items.jsonl"', f'"result.json"\nitem_list = "{item_list}"')
    shop.describe(f'write("result.json", {{"mean": 0.5, "n": 2, "samples": {items!r}}})', command)
    run = await shop.run()
    assert run.primary is None or run.primary.n_scored == scored
    assert any(told in warning for warning in run.warnings)


CALLS = """
import urllib.request
def ask(text, **more):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], **more}).encode()
    headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    urllib.request.urlopen(urllib.request.Request(url, body, headers)).read()
ask("Now: what is the colour of snow?")
ask("no hint here", user="b")
ask("of nobody at all")
ask("What is the colour of snow? And of what is the colour of snow at night?")
ask("What is the colour of snow?", metadata={"item": "nobody"})
inputs = {"a": "what is the colour of snow?", "b": "2", "c": "what is the colour of snow at night?"}
lines = [json.dumps({"id": name, "score": 1, "input": text}) for name, text in inputs.items()]
write("items.jsonl", "\\n".join(lines))
"""


async def test_model_calls_belong_to_the_items_that_they_name_or_whose_input_they_hold(shop: Any) -> None:
    shop.describe(CALLS, COMMAND)
    own, *items = shop.episodes(await shop.run())
    assert [item.terminal_info.get("calls") for item in items] == [[1], [2], [4]]
    assert (own.terminal_info["calls_of_items"], own.terminal_info["calls_of_no_item"]) == (3, 2)


async def test_what_was_asked_and_answered_is_in_the_trace_of_an_item(shop: Any) -> None:
    shop.describe(THREE, COMMAND)
    episode = shop.episodes(await shop.run())[2]
    (shown, *_) = shop.events(episode, Kind.OBSERVATION)
    (acted,) = shop.events(episode, Kind.ACTION)
    assert shown.payload["data"]["input"] == "question 1"
    assert acted.payload["action"] == "answer 1"


async def test_the_programs_own_score_is_kept_beside_its_items(shop: Any) -> None:
    shop.describe(THREE + 'write("result.json", {"mean": 0.9})', COMMAND)
    run = await shop.run()
    own = shop.episodes(run)[0]
    assert [(score.name, score.value) for score in own.scores] == [("reported", 0.9)]
    assert run.primary.value == 0.5


async def test_items_without_score_or_with_an_error_are_missing_with_their_cause(shop: Any) -> None:
    shop.describe(
        program(
            {"id": "a", "score": 1},
            {"id": "b", "score": 1, "error": "the server hung up"},
            {"id": "c"},
            {"id": "d", "score": "good"},
        ),
        COMMAND,
    )
    run = await shop.run()
    assert run.primary.value == 1.0
    assert run.primary.missing == {"program_failed": 1, "value_missing": 1, "value_unusable": 1}
    failed = shop.episodes(run)[2]
    assert failed.status is EpisodeStatus.FAILED
    assert "the server hung up" in failed.failure.message


async def test_items_of_one_name_are_told_apart(shop: Any) -> None:
    shop.describe(program({"id": "a", "score": 1}, {"id": "a", "score": 0}, {"id": "a", "score": 0}), COMMAND)
    run = await shop.run()
    assert [episode.task_id for episode in shop.episodes(run)[1:]] == ["a", "a (2)", "a (3)"]
    assert run.primary.n_scored == 3


async def test_two_runs_pair_by_item_whatever_the_order(shop: Any, tmp_path: Path) -> None:
    command = COMMAND.replace('"program.py"', '"program.py", "{model}"')
    shop.describe(
        """
        items = [{"id": n, "score": 1, "input": n, "output": sys.argv[1]} for n in "abc"]
        write("items.jsonl", "\\n".join(map(json.dumps, items[:: -1 if sys.argv[1] == "random" else 1])))
        """,
        command,
    )
    one = await shop.run(model="builtin/random", benchmark=shop.reference(output=tmp_path / "one"))
    two = await shop.run(model="builtin/empty", benchmark=shop.reference(output=tmp_path / "two"))
    first, second = ({e.task_digest: e.task_id for e in shop.episodes(run)} for run in (one, two))
    assert first == second
    assert one.benchmark_digest == two.benchmark_digest


async def test_variants_of_one_item_are_one_cluster(shop: Any) -> None:
    shop.describe(program(*({"id": n, "score": n % 2, "cluster": n // 2} for n in range(6))), COMMAND)
    run = await shop.run()
    assert {episode.cluster for episode in shop.episodes(run)[1:]} == {"0", "1", "2"}


async def test_a_program_that_fails_leaves_no_items(shop: Any) -> None:
    shop.describe(THREE + "sys.exit(1)", COMMAND)
    run = await shop.run()
    assert (run.status, run.counts.planned, run.counts.failed) == (RunStatus.FAILED, 1, 1)
    assert (shop.output / "attempt-1/output/items.jsonl").exists()


async def test_a_program_without_its_items_has_failed(shop: Any) -> None:
    shop.describe('write("result.json", {"mean": 1})', COMMAND)
    (episode,) = shop.episodes(await shop.run())
    assert episode.failure.cause is Cause.PROGRAM_FAILED
    assert "items.jsonl" in episode.failure.message


async def test_every_trial_has_its_own_items(shop: Any) -> None:
    command = COMMAND.replace('"program.py"', '"program.py", "{trial}"')
    shop.describe(
        """
        count = 2 + int(sys.argv[1])
        write("items.jsonl", "\\n".join(json.dumps({"id": n, "score": int(sys.argv[1])}) for n in range(count)))
        """,
        command,
    )
    run = await shop.run(trials=2)
    assert [(e.task_id, e.trial) for e in shop.episodes(run)] == [
        *[("toy", 0), ("0", 0), ("1", 0)],
        *[("toy", 1), ("0", 1), ("1", 1), ("2", 1)],
    ]
    assert (run.counts.planned, run.primary.value, run.primary.n_scored) == (7, 0.6, 5)


class Watcher(Observer):
    """Notes where a run stands after every episode."""

    def __init__(self) -> None:
        self.progress: Progress | None = None
        self.seen: list[tuple[int, int]] = []

    def run_started(self, progress: Progress) -> None:
        self.progress = progress

    def episode_finished(self, episode: Any) -> None:
        assert self.progress is not None
        self.seen.append((self.progress.done, self.progress.planned))


async def test_progress_never_counts_more_than_is_planned(shop: Any) -> None:
    shop.describe(THREE, COMMAND)
    watcher = Watcher()
    await shop.run(shop.spec(), watcher)
    assert watcher.seen[-1] == (4, 4)
    assert all(done <= planned for done, planned in watcher.seen)


async def test_a_finished_run_owes_nothing_and_its_numbers_so_far_are_its_numbers(shop: Any) -> None:
    shop.describe(THREE, COMMAND)
    run = await shop.run()
    again = await shop.resume(run)
    assert (again.status, again.counts) == (RunStatus.FINISHED, run.counts)
    assert shop.attempts() == ["attempt-1"]
    assert so_far(run, shop.store)[0].n_planned == 3


async def test_items_that_were_not_taken_in_are_owed_without_running_the_program_again(shop: Any) -> None:
    shop.describe(THREE, COMMAND)
    run = await shop.run()
    with sqlite3.connect(shop.database) as connection:
        connection.execute("delete from episodes where task_id in ('1', '2')")
        connection.execute("update runs set planned = 1, completed = 2, status = 'stopped'")
    run = await shop.resume(run)
    assert (run.status, run.counts.planned, run.primary.n_scored, run.primary.value) == ("finished", 4, 3, 0.5)
    assert shop.attempts() == ["attempt-1"]


async def test_a_run_whose_process_was_killed_goes_on_with_a_new_attempt(shop: Any, tmp_path: Path) -> None:
    started = tmp_path / "started"
    shop.describe(
        f"first = not os.path.exists({str(started)!r})\nopen({str(started)!r}, 'w').write(str(os.getpid()))\n"
        "if first:\n    time.sleep(600)\n" + THREE,
        COMMAND,
    )
    script = Path(__file__).with_name("runner.py")
    words = [sys.executable, str(script), str(tmp_path / "results.sqlite"), str(shop.folder), str(shop.output)]
    runner = subprocess.Popen(words, start_new_session=True)  # noqa: ASYNC220
    await written(started)
    os.kill(runner.pid, signal.SIGKILL)
    runner.wait()
    child = started.read_text()
    (run,) = shop.store.runs.list().items
    run = await shop.resume(run)
    assert not alive(child)
    assert (run.status, run.primary.n_scored, run.counts.planned) == (RunStatus.FINISHED, 3, 4)
    assert shop.attempts() == ["attempt-1", "attempt-2"]


def opened(run: Run) -> Any:
    return open_parts(run.spec).benchmark


async def test_items_can_be_graded_again(shop: Any) -> None:
    shop.describe(THREE, COMMAND)
    run = await shop.run()
    file = shop.output / "attempt-1/output/items.jsonl"
    file.write_text(file.read_text().replace('"score": 0.5', '"score": 1.0'))
    again = await rescore(run, opened(run), shop.store)
    assert again.primary is not None
    assert again.primary.value == pytest.approx(2 / 3)


async def test_items_that_are_gone_are_not_graded_to_nothing(shop: Any, tmp_path: Path) -> None:
    shop.describe(THREE, COMMAND)
    run = await shop.run()
    shop.output.rename(tmp_path / "moved")
    with pytest.raises(UsageError, match="belong to no task"):
        await rescore(run, opened(run), shop.store)
    assert shop.store.runs.get(run.id).primary.value == 0.5


async def test_a_score_whose_file_is_gone_stays_as_it_was_read(shop: Any, tmp_path: Path) -> None:
    shop.describe('write("result.json", {"score": 0.5})', '[command]\nargv = ["{python}", "program.py"]\n')
    run = await shop.run()
    shop.output.rename(tmp_path / "moved")
    again = await rescore(run, opened(run), shop.store)
    assert again.primary is not None
    assert again.primary.value == 0.5


async def test_without_an_output_directory_items_are_read_in_the_same_session(shop: Any) -> None:
    shop.describe(THREE, COMMAND)
    ref = shop.reference()
    options = {name: value for name, value in ref.options.items() if name != "output"}
    run = await shop.run(benchmark=BenchmarkRef(ref.kind, ref.source, options))
    assert (run.primary.value, run.counts.planned) == (0.5, 4)


async def test_a_hundred_thousand_broken_lines_are_counted_and_few_are_told(shop: Any) -> None:
    shop.describe("write('items.jsonl', 'x\\n' * 100_000 + '{\"id\": 1, \"score\": 1}\\n[1]\\n\\xff\\n')", COMMAND)
    run = await shop.run()
    assert run.primary.value == 1.0
    assert shop.episodes(run)[0].terminal_info["broken_items"] == 100_002
    assert len(run.warnings) < 30
