"""Benchmarks that are foreign programs: how they are run, what they see, and how they may end."""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests.conftest import LoopClock

from mesocosm.benchmarks import program
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, Incompatible, InvalidInput, UsageError
from mesocosm.core.ports import Observer, Progress
from mesocosm.core.run import AgentSettings, BenchmarkRef, Limits, RunStatus
from mesocosm.engine import session
from mesocosm.sandboxes.bubblewrap import available

ECHO = """
write("result.json", {"score": 0.5, "argv": sys.argv[1:], "environment": dict(os.environ), "cwd": os.getcwd()})
"""


def alive(pid: str) -> bool:
    return Path(f"/proc/{pid}").exists()


def there(path: str) -> bool:
    return Path(path).exists()


def result(shop: Any, attempt: int = 1) -> Any:
    return json.loads((shop.output / f"attempt-{attempt}" / "output" / "result.json").read_text())


async def test_the_score_of_the_result_file_is_that_of_the_run(shop: Any) -> None:
    shop.describe('write("result.json", {"score": 0.75})')
    run = await shop.run()
    assert (run.status, run.primary.value, run.primary.n_planned) == (RunStatus.FINISHED, 0.75, 1)
    (episode,) = shop.episodes(run)
    assert episode.terminal_info["result"] == "attempt-1/output/result.json"
    assert episode.terminal_info["returncode"] == 0


HANDED: dict[str, tuple[str, dict[str, float], tuple[float | None, float | None, str]]] = {
    "nothing": ("", {"score": 0.5}, (None, None, "none")),
    "nothing, and all passed": ("", {"score": 1.0}, (None, None, "none")),
    "nothing, and all failed": ("", {"score": 0}, (None, None, "none")),
    "a standard error": ('stderr = "se"', {"score": 0.5, "se": 0.1}, (0.304, 0.696, "program's stderr")),
    "one beyond the bounds": ('stderr = "se"', {"score": 0.9, "se": 0.1}, (0.704, 1.0, "program's stderr")),
    "one of few items": (
        'stderr = "se"\nn = "n"',
        {"score": 0.5, "se": 0.1, "n": 5},
        (0.222, 0.778, "program's stderr"),
    ),
    "the number of items": ('n = "n"', {"score": 0.5, "n": 20}, (0.299, 0.701, "wilson")),
    "a number that cannot be": ('n = "n"', {"score": 0.33, "n": 20}, (None, None, "none")),
    "a standard error below 0": ('stderr = "se"', {"score": 0.5, "se": -0.1}, (None, None, "none")),
    "no error": ('stderr = "se"', {"score": 0.5, "se": 0}, (None, None, "none")),
}


@pytest.mark.parametrize("what", HANDED)
async def test_a_lone_score_has_the_interval_that_is_handed_in_and_no_other(shop: Any, what: str) -> None:
    keys, written, (low, high, method) = HANDED[what]
    shop.describe(f'write("result.json", {written!r})', f'[command]\nargv = ["{{python}}", "program.py"]\n{keys}\n')
    run = await shop.run()
    assert (run.primary.value, run.primary.method) == (written["score"], method)
    assert (run.primary.low, run.primary.high) == (
        (None, None) if low is None else (pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3))
    )


async def test_lone_scores_of_several_trials_are_no_passes_and_failures(shop: Any) -> None:
    shop.describe('write("result.json", {"score": 1.0})')
    run = await shop.run(shop.spec(trials=3))
    assert (run.primary.value, run.primary.low, run.primary.n_scored) == (1.0, None, 3)


async def test_placeholders_are_filled_and_a_list_with_an_unset_parameter_is_left_out(shop: Any) -> None:
    command = """
    [command]
    argv = ["{python}", "{folder}/program.py", "{provider}", "{model}", "{temperature}", "{max_tokens}",
      ["--limit", "{limit}"], ["--left", "{left}"], ["--flag", "{?flag}"], ["--off", "{?off}"], "{words}", "a={words}",
      "{{literal}}", "$(id); {trial}"]
    """
    parameters = """
    [parameters]
    limit = {type = "integer", help = "h", default = 3}
    left = {type = "text", help = "h"}
    flag = {type = "boolean", help = "h", default = true}
    off = {type = "boolean", help = "h", default = false}
    words = {type = "list", help = "h", default = ["x y", "z"]}
    """
    shop.describe(ECHO, command, parameters=parameters)
    await shop.run()
    words = ["--limit", "3", "--flag", "x y", "z", "a=x y,z", "{literal}", "$(id); 0"]
    assert result(shop)["argv"] == ["builtin", "random", "0.0", "77", *words]


async def test_the_program_sees_nothing_of_ours_but_what_is_declared(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "a-secret-of-ours-12345")
    monkeypatch.setenv("UNRELATED", "x")
    monkeypatch.setenv("WANTED", "y")
    command = """
    [command]
    argv = ["{python}", "program.py"]
    pass_environment = ["WANTED", "NOT_SET"]
    environment = {SET = "{model}!", LEFT = "{unset}"}
    """
    shop.describe(ECHO, command, parameters='[parameters]\nunset = {type = "text", help = "h"}\n')
    await shop.run()
    seen = result(shop)["environment"]
    assert (seen["WANTED"], seen["SET"], seen["BENCHMARK_MODEL_NAME"]) == ("y", "random!", "random")
    assert not {"OTHER_API_KEY", "UNRELATED", "LEFT", "NOT_SET"} & set(seen)
    assert Path(seen["BENCHMARK_OUTPUT_ROOT"]) == shop.output / "attempt-1" / "output"
    assert "127.0.0.1" in seen["OPENAI_BASE_URL"]
    assert "127.0.0.1" in seen["NO_PROXY"]


async def test_a_chosen_number_of_tasks_goes_over_the_sampling_parameter(shop: Any) -> None:
    command = '[command]\nargv = ["{python}", "program.py", "{limit}"]\n'
    parameters = '[parameters]\nlimit = {type = "integer", help = "h", default = 3}\n'
    shop.describe(ECHO, command, parameters=parameters, head='sampling = "limit"\n')
    await shop.run(count=9)
    assert result(shop)["argv"] == ["9"]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ('argv = ["{python}", "{nothing}"]', "{nothing}"),
        ('argv = ["{python}", "{\\"a\\": 1"]', "single brace"),
        ('argv = ["x"]\nresult = ["../*.json"]', "command.result: the pattern '../*.json' must stay"),
        ('argv = ["x"]\nitems = "/items.jsonl"', "command.items: the pattern '/items.jsonl' must stay"),
        ('argv = ["x"]\nscore = "a..b"', "not a JSON path"),
        ('argv = ["x"]\nitem = {id = "["}\nitems = "i.jsonl"', "not a JSON path"),
    ],
)
def test_a_command_that_cannot_work_is_refused_when_it_is_opened(shop: Any, command: str, told: str) -> None:
    shop.describe("", f"[command]\n{command}\n")
    with pytest.raises(InvalidInput, match="table") as caught:
        shop.opened()
    assert told in str(caught.value)


async def test_a_word_that_is_not_set_and_not_in_a_list_fails_the_program(shop: Any) -> None:
    shop.describe(ECHO, '[command]\nargv = ["{python}", "{seed}"]\n')
    run = await shop.run()
    (episode,) = shop.episodes(run)
    assert episode.failure.cause is Cause.SANDBOX_FAILED
    assert "seed" in episode.failure.message


async def test_a_program_that_does_not_exist_is_no_failure_of_the_model(shop: Any) -> None:
    shop.describe("", '[command]\nargv = ["no-such-program-anywhere"]\n')
    run = await shop.run()
    (episode,) = shop.episodes(run)
    assert episode.failure.cause is Cause.SANDBOX_FAILED
    assert (run.status, run.primary.missing) == (RunStatus.STOPPED, {"sandbox_failed": 1})


async def test_a_bad_exit_code_fails_and_its_score_is_told_but_not_counted(shop: Any) -> None:
    shop.describe('write("result.json", {"score": 1.0})\nprint("out of luck", file=sys.stderr)\nsys.exit(3)')
    run = await shop.run()
    (episode,) = shop.episodes(run)
    assert (episode.failure.cause, run.primary.value) == (Cause.PROGRAM_FAILED, None)
    assert "exit code 3" in episode.failure.message
    assert "out of luck" in episode.failure.stderr
    assert episode.terminal_info["found"] == {"score": 1.0}
    assert episode.terminal_info["returncode"] == 3


async def test_a_program_without_a_result_fails_and_is_told_what_was_looked_for(shop: Any) -> None:
    shop.describe('print("last words", file=sys.stderr)', COMMAND_PATTERNS)
    run = await shop.run()
    (episode,) = shop.episodes(run)
    assert episode.failure.cause is Cause.PROGRAM_FAILED
    assert "best-*.json, other.json" in episode.failure.message
    assert "last words" in episode.failure.stderr


COMMAND_PATTERNS = """
[command]
argv = ["{python}", "program.py"]
result = ["best-*.json", "other.json"]
"""


async def test_the_newest_match_of_the_first_pattern_is_the_result(shop: Any) -> None:
    shop.describe(
        """
        for number, name in enumerate(["other.json", "best-b.json", "best-a.json"]):
            write(name, {"score": number / 10})
            os.utime(OUTPUT / name, ns=(number * 10**9, number * 10**9))
        os.utime(OUTPUT / "other.json")
        """,
        COMMAND_PATTERNS,
    )
    assert (await shop.run()).primary.value == 0.2


async def test_files_of_an_earlier_attempt_and_links_that_lead_outside_are_no_results(shop: Any) -> None:
    old = shop.output / "attempt-1" / "output"
    old.mkdir(parents=True)
    (old / "result.json").write_text('{"score": 1}')
    (shop.output / "result.json").write_text('{"score": 1}')
    shop.describe(f'(OUTPUT / "result.json").symlink_to({str(old / "result.json")!r})')
    run = await shop.run()
    assert run.primary.missing == {"program_failed": 1}
    assert shop.attempts() == ["attempt-1", "attempt-2", "result.json"]


@pytest.mark.parametrize(
    ("written", "cause", "told"),
    [
        ({"other": 1}, Cause.VALUE_MISSING, "there is no 'score'"),
        ({"score": None}, Cause.VALUE_MISSING, "null"),
        ({"score": "0.9"}, Cause.VALUE_UNUSABLE, "'0.9'"),
        ({"score": True}, Cause.VALUE_UNUSABLE, "True"),
        ('{"score": NaN}', Cause.VALUE_UNUSABLE, "nan"),
        ({"score": 90}, Cause.VALUE_UNUSABLE, "outside of [0, 1]"),
        ({"score": 10**400}, Cause.VALUE_UNUSABLE, "not a finite number"),
        ("\x00 garbage", Cause.VALUE_UNUSABLE, "not JSON"),
        ("[" * 100_000, Cause.VALUE_UNUSABLE, "not JSON"),
    ],
)
async def test_a_score_that_is_none_is_missing_and_never_zero(shop: Any, written: Any, cause: Cause, told: str) -> None:
    shop.describe(f'write("result.json", {written!r})')
    run = await shop.run()
    (episode,) = shop.episodes(run)
    (score,) = episode.scores
    assert (score.value, score.missing, run.primary.value) == (None, cause, None)
    assert told in score.explanation


async def test_further_metrics_are_read_by_their_paths(shop: Any) -> None:
    command = """
    [command]
    argv = ["{python}", "program.py"]
    score = 'runs[-1]."exact, strict"'
    metrics = {cost = "usage.usd", gone = "usage.none"}
    """
    shop.describe('write("result.json", {"runs": [{}, {"exact, strict": 0.25}], "usage": {"usd": 3}})', command)
    run = await shop.run()
    values = {metric.name: (metric.value, metric.missing) for metric in run.metrics}
    assert values == {"score": (0.25, {}), "cost": (3.0, {}), "gone": (None, {"value_missing": 1})}


async def test_a_program_that_hangs_is_ended_with_all_its_children(
    shop: Any, loop_clock: LoopClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "time", SimpleNamespace(monotonic=loop_clock))
    shop.describe(
        """
        import subprocess
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
        write("pids", f"{os.getpid()} {child.pid}")
        print("hanging", flush=True)
        time.sleep(600)
        """,
        '[command]\nargv = ["{python}", "program.py"]\ntimeout_s = 600\n',
    )
    running, written = asyncio.create_task(shop.run()), shop.output / "attempt-1/output/pids"
    while not running.done() and not there(str(written)):  # noqa: ASYNC110 -- another process's file
        await asyncio.sleep(0.01)
    loop_clock.advance(600)
    (episode,) = shop.episodes(await running)
    assert episode.failure.cause is Cause.PROGRAM_TIMEOUT
    assert "did not end within 600 s" in episode.failure.message
    for pid in written.read_text().split():
        assert not alive(pid)


async def test_a_run_may_allow_more_time_than_the_descriptor(shop: Any) -> None:
    shop.describe('time.sleep(0.3)\nwrite("result.json", {"score": 1})', COMMAND_SHORT)
    assert (await shop.run(limits=Limits(episode_seconds=60))).primary.value == 1
    assert (await shop.run()).primary.missing == {"program_timeout": 1}


COMMAND_SHORT = '[command]\nargv = ["{python}", "program.py"]\ntimeout_s = 0.2\n'


async def test_a_program_that_falls_silent_is_ended(shop: Any) -> None:
    command = '[command]\nargv = ["{python}", "program.py"]\nsilence_s = 0.5\n'
    shop.describe('print("going", flush=True)\ntime.sleep(600)', command)
    (episode,) = shop.episodes(await shop.run())
    assert episode.failure.cause is Cause.PROGRAM_TIMEOUT
    assert "printed nothing for 0.5 s" in episode.failure.message


async def test_what_it_prints_is_in_the_trace_while_it_runs_and_in_files(shop: Any) -> None:
    shop.describe(
        """
        print("hello", flush=True)
        print("woe", file=sys.stderr, flush=True)
        print("wide " + "x" * 5000)
        for number in range(2000):
            print("line", number)
        write("result.json", {"score": 1})
        """
    )
    run = await shop.run()
    (episode,) = shop.episodes(run)
    lines = [(event.payload["stream"], event.payload["message"]) for event in shop.events(episode, Kind.LOG)]
    assert ("stdout", "hello") in lines
    assert ("stderr", "woe") in lines
    assert len(lines) < 800
    assert ("stdout", "line 1999") in lines
    assert any("lines are left out here" in line for _, line in lines)
    assert max(len(line) for _, line in lines) < 2100
    whole = (shop.output / episode.terminal_info["stdout"]).read_text()
    assert len(whole.splitlines()) == 2002


async def test_secrets_reach_neither_trace_nor_files(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_API_KEY", "hush-hush-12345")
    command = '[command]\nargv = ["{python}", "program.py"]\npass_environment = ["TOY_API_KEY"]\n'
    shop.describe(
        """
        print(os.environ["TOY_API_KEY"])
        print("token", os.environ["OPENAI_API_KEY"], file=sys.stderr)
        write("token", os.environ["OPENAI_API_KEY"])
        sys.exit(1)
        """,
        command,
    )
    run = await shop.run()
    (episode,) = shop.episodes(run)
    token = (shop.output / "attempt-1/output/token").read_text()
    folder = shop.output / "attempt-1"
    told = str([event.payload for event in shop.events(episode)]) + str(episode)
    told += (folder / "stdout.log").read_text() + (folder / "stderr.log").read_text()
    assert token
    assert "hush-hush" not in told
    assert token not in told
    assert "[redacted]" in told


async def stop_when_started(control: session.Control, output: Path) -> None:
    while not there(str(output / "attempt-1/output/pids")):  # noqa: ASYNC110  (nobody here can tell)
        await asyncio.sleep(0.01)
    control.stop("enough", 0.0)


async def test_a_stopped_run_leaves_no_process_and_is_owed(shop: Any) -> None:
    shop.describe('write("pids", str(os.getpid()))\ntime.sleep(600)')
    control = session.Control()
    watcher = asyncio.create_task(stop_when_started(control, shop.output))
    run = await shop.run(control=control)
    await watcher
    assert (run.status, run.counts.pending) == (RunStatus.STOPPED, 1)
    assert not alive((shop.output / "attempt-1/output/pids").read_text())
    assert not (shop.output / "attempt-1" / "attempt.json").exists()


async def test_a_program_that_was_changed_makes_another_experiment(shop: Any) -> None:
    shop.describe("sys.exit(1)")
    run = await shop.run()
    shop.describe('write("result.json", {"score": 1})')
    with pytest.raises(UsageError, match="two experiments"):
        await shop.resume(run, retry_failed=True)


@pytest.mark.parametrize("named", ["program.py", "helper.py"])
async def test_the_result_of_a_program_that_is_edited_while_it_runs_is_not_kept(shop: Any, named: str) -> None:
    edits = f"(pathlib.Path(__file__).parent / {named!r}).open('a').write('# edited')"
    shop.describe(f'import helper\nwrite("result.json", {{"score": 1}})\n{edits}')
    (shop.folder / "helper.py").write_text("")
    run = await shop.run()
    assert (run.status, run.counts.pending, run.primary.value) == (RunStatus.STOPPED, 1, None)
    assert run.error.startswith(f"{named} of benchmark toy has changed since the run began")


async def test_a_program_that_is_edited_before_it_starts_is_not_run(shop: Any) -> None:
    shop.describe('write("result.json", {"score": 1})')

    class Edits(Observer):
        def run_started(self, progress: Progress) -> None:
            shop.describe('write("result.json", {"score": 0})')

    run = await shop.run(shop.spec(), Edits())
    assert (run.status, run.counts.pending) == (RunStatus.STOPPED, 1)
    assert not shop.output.exists()


async def test_data_that_change_while_a_program_runs_are_named(shop: Any, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "items.jsonl").write_text("{}")
    shop.describe(
        f'write("result.json", {{"score": 1}})\npathlib.Path({str(data / "items.jsonl")!r}).write_text("")',
        parameters='[parameters.data]\ntype = "path"\nhelp = "h"\n',
    )
    run = await shop.run(parameters={"data": str(data)})
    assert run.error.startswith("data/items.jsonl of benchmark toy has changed since the run began")


PLAIN = '[command]\nargv = ["{python}", "{folder}/program.py"]\n'


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (PLAIN, "kit/deep/grader.py"),
        (PLAIN, "prompts/system.txt"),
        ('[command]\nargv = ["{python}", "-m", "kit.main"]\n', "kit/grader.py"),
        ('[command]\nargv = ["{python}", "../suite/main.py"]\n', "../suite/grader.py"),
        ('[command]\nargv = ["{python}", "-m", "kit"]\ncwd = "../suite"\n', "../suite/kit/grader.py"),
        (
            '[command]\nargv = ["{python}", "a.py"]\nenvironment = {PYTHONPATH = "{folder}/../lib"}\n',
            "../lib/grader.py",
        ),
        ('[command]\nargv = ["sh", "a.sh", "--data=../tasks"]\n', "../tasks/1.json"),
        ('[command]\nargv = ["{python}", "test_suite.py"]\n', "test_suite.py"),
    ],
)
def test_whatever_a_program_can_read_is_part_of_it(shop: Any, command: str, file: str) -> None:
    shop.describe("", command)
    for place in ("kit", "../suite", "../lib", "../tasks"):
        (shop.folder / place).mkdir()
    (shop.folder / "../suite/main.py").touch()
    (shop.folder / file).parent.mkdir(parents=True, exist_ok=True)
    digests = set()
    for content in ("A = 1", "A = 2"):
        (shop.folder / file).write_text(content)
        digests.add(shop.opened().info.digest)
    assert len(digests) == 2


def test_a_module_that_is_worked_on_elsewhere_is_part_of_a_program(
    shop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.describe("", '[command]\nargv = ["{python}", "-m", "kit_elsewhere.main"]\n')
    (tmp_path / "kit_elsewhere").mkdir()
    (tmp_path / "kit_elsewhere/__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    before = shop.opened().info.digest
    (tmp_path / "kit_elsewhere/grader.py").touch()
    assert shop.opened().info.digest != before


@pytest.mark.parametrize(
    "name",
    [
        "benchmark_results/a.json",
        ".cache/a",
        "__pycache__/a.pyc",
        "run.log",
        "cache/deep/a",
        "used.csv",
        "idle/a",
        "README.md",
    ],
)
def test_what_a_program_leaves_behind_is_no_part_of_it(shop: Any, name: str) -> None:
    head = 'writes = ["cache/", "*.csv"]\n'
    parameters = '[parameters.scratch]\ntype = "path"\nhelp = "h"\ndefault = "idle"\ncontent = false\n'
    shop.describe("", head=head, parameters=parameters)
    before = shop.opened().info.digest
    (shop.folder / name).parent.mkdir(parents=True, exist_ok=True)
    (shop.folder / name).write_text("1")
    assert shop.opened().info.digest == before


async def test_a_program_that_writes_into_its_own_folder_is_told_how_to_say_so(shop: Any) -> None:
    program = """
    (pathlib.Path(__file__).parent / "seen.txt").open("a").write("1")
    write("result.json", {"score": 1})
    """
    shop.describe(program)
    first = await shop.run()
    (warning,) = first.warnings
    assert warning.startswith("seen.txt appeared beside the program while it ran")
    second = await shop.run()
    assert second.signature != first.signature
    assert second.error.endswith("name files that the program writes itself in `writes` of its benchmark.toml")
    shop.describe(program, head='writes = ["seen.txt"]\n')
    third = await shop.run()
    assert (third.primary.value, third.signature, third.warnings) == (1.0, first.signature, ())


async def test_a_program_that_failed_by_bad_luck_is_repeated_in_a_new_attempt(shop: Any, tmp_path: Path) -> None:
    luck = tmp_path / "luck"
    shop.describe(f'if not os.path.exists({str(luck)!r}):\n    sys.exit(1)\nwrite("result.json", {{"score": 1}})')
    run = await shop.run()
    assert run.status is RunStatus.FAILED
    luck.touch()
    run = await shop.resume(run, retry_failed=True)
    assert (run.status, run.primary.value) == (RunStatus.FINISHED, 1.0)
    (episode,) = shop.episodes(run)
    assert episode.terminal_info["result"].startswith("attempt-2/")


async def test_a_temporary_output_directory_is_removed(shop: Any) -> None:
    shop.describe('write("result.json", {"score": 0.5, "at": str(OUTPUT)})\nprint(OUTPUT)')
    ref = shop.reference()
    options = {name: value for name, value in ref.options.items() if name != "output"}
    run = await shop.run(benchmark=BenchmarkRef(ref.kind, ref.source, options))
    (episode,) = shop.episodes(run)
    (line,) = [event.payload["message"] for event in shop.events(episode, Kind.LOG)]
    assert run.primary.value == 0.5
    assert not there(line)
    assert not shop.output.exists()


async def test_what_the_machine_lacks_is_said_before_anything_runs(shop: Any) -> None:
    head = '\n[[requirement]]\nkind = "program"\nname = "no-such-program"\nwhy = "it does the work"\n'
    shop.describe(ECHO, head=head)
    with pytest.raises(Incompatible, match="no-such-program"):
        await shop.run()
    assert not shop.output.exists()


def test_the_digest_covers_program_parameters_and_files_but_not_where_they_lie(shop: Any, tmp_path: Path) -> None:
    parameters = """
    [parameters]
    data = {type = "path", help = "h"}
    level = {type = "integer", help = "h", default = 1}
    """
    shop.describe(ECHO, parameters=parameters)
    data, copy = tmp_path / "data.txt", tmp_path / "copy.txt"
    data.write_text("a")
    copy.write_text("a")
    base = shop.opened(data=str(data)).info.digest
    assert shop.opened(data=str(copy)).info.digest == base
    assert shop.opened(data=str(data), level=2).info.digest != base
    copy.write_text("b")
    assert shop.opened(data=str(copy)).info.digest != base
    shop.describe(ECHO + "# changed", parameters=parameters)
    assert shop.opened(data=str(data)).info.digest != base


async def test_another_agent_cannot_play_in_place_of_the_program(shop: Any) -> None:

    shop.describe(ECHO)
    run = await shop.run(msgspec.structs.replace(shop.spec(), agent=AgentSettings("loop")))
    assert (run.status, run.counts.done) == (RunStatus.FAILED, 0)
    assert "use the agent 'program'" in run.error
    run = await shop.run(msgspec.structs.replace(shop.spec(), agent=AgentSettings("chat")))
    assert run.primary.value == 0.5


async def test_every_trial_runs_the_program_anew(shop: Any) -> None:
    shop.describe(
        'write("result.json", {"score": int(sys.argv[1])})', '[command]\nargv = ["{python}", "program.py", "{trial}"]\n'
    )
    run = await shop.run(trials=2)
    assert (run.primary.value, run.primary.n_scored, run.primary.n_tasks) == (0.5, 2, 1)
    assert shop.attempts() == ["attempt-1", "attempt-2"]


@pytest.mark.skipif(not available(), reason="bubblewrap does not work on this machine")
async def test_a_confined_program_reads_its_own_files_alone(shop: Any, tmp_path: Path) -> None:
    data, other = tmp_path / "data.txt", tmp_path / "other.txt"
    data.write_text("given")
    other.write_text("private")
    command = '[command]\nargv = ["{python}", "program.py", "{data}"]\nsandbox = "bubblewrap"\n'
    shop.describe(
        f"""
        print("inside", flush=True)
        seen = [os.path.exists(sys.argv[1]), not os.path.exists({str(other)!r})]
        write("result.json", {{"score": sum(seen) / 2}})
        """,
        command,
        parameters='[parameters]\ndata = {type = "path", help = "h"}\n',
    )
    run = await shop.run(parameters={"data": str(data)})
    (episode,) = shop.episodes(run)
    assert run.primary.value == 1.0
    assert [event.payload["message"] for event in shop.events(episode, Kind.LOG)] == ["inside"]
