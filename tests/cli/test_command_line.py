"""What holds for every command: help, exit codes, JSON, errors, output that nobody takes."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

import mesocosm as package
from mesocosm.cli import doctor
from mesocosm.cli.main import TREE, program
from mesocosm.cli.run import run as run_group

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Played

HEAVY = ("sqlalchemy", "alembic", "pydantic", "rich", "fastapi", "uvicorn", "litellm", "asyncio", "zstandard")
SETTINGS = {"help_option_names": ["-h", "--help"]}

LIGHT = f"""
import sys
from mesocosm.cli.main import call
code = call(sys.argv[1:])
loaded = [name for name in {HEAVY} if name in sys.modules]
print(code, loaded, file=sys.stderr)
"""

PLAYS_OR_SERVES = ("mesocosm.engine.session", "mesocosm.rollouts", "fastapi", "pydantic", "litellm", "alembic")
READERS = (
    "run list",
    "run show last",
    "run episodes last",
    "eval list",
    "eval info RUN",
    "bench show-runs",
    "export last -o run.zip",
)
READ = f"""
import sys
from mesocosm.cli.main import call
for words in {READERS}:
    code = call([*words.replace("RUN", sys.argv[1]).split(), *sys.argv[2:]])
    loaded = [name for name in {PLAYS_OR_SERVES} if name in sys.modules]
    print(words, code, loaded, file=sys.stderr)
"""

WITH_JSON = {
    "doctor": "doctor --local",
    "export": "export last -o {there}/run.zip",
    "import": "import {there}/run.zip",
    "import replay": "import {there}/replay.json",
    "init": "init --dir {there}/new",
    "plugins": "plugins",
    "run delete": "run delete last --yes",
    "run episodes": "run episodes last",
    "run episodes with traces": "run episodes last --traces",
    "run export": "run export last",
    "run export to a file": "run export last -o {there}/replay.json",
    "run list": "run list",
    "run local": "run local --manifest {manifest} --model builtin/random --episodes 1",
    "run rescore": "run rescore last",
    "run resume": "run resume last",
    "run show": "run show last",
    "run watch": "run watch last",
    "validate": "validate {manifest}",
    "demo": "demo --episodes 1",
    "an unknown command": "run lst",
    "an unknown option": "run list --nope",
    "a bad value": "run local --seeds x",
    "an unknown run": "run show nothing",
    "a running one asked for": "run stop last",
    "a broken document": "validate {there}/broken.json",
}


def every(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group, info_name=path, **SETTINGS)  # type: ignore[arg-type]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}".strip(), command
        if isinstance(command, click.Group):
            yield from every(command, f"{path} {name}".strip())


def test_version_names_program_and_version(mesocosm: "Invoke") -> None:
    for flag in ("--version", "-V"):
        assert mesocosm(flag).out == f"mesocosm {package.__version__}\n"


HELP = """\
Usage: mesocosm COMMAND

  Evaluate agents and language models: on your data, on benchmarks, in
  environments. The same command again continues; nothing finished runs twice.

  demo      Play an example and watch it in the browser
  init      Start a project: asks what you have, writes the smallest that runs
  run       Run anything: a folder, a file, a name; list and look at runs
  bench     Benchmarks: list, show, run
  eval      Your own rows or agent:  eval ask q.csv --prompt '{{question}}' …
  compare   Compare runs, models or prompts; fail a pipeline on a regression
  search    Find what was said in all runs, and how often it passed
  view      Open the results in the browser

  Files      import export dataset
  Platform   serve worker admin auth team env domain gallery models workspace
  Health     doctor guests plugins upgrade-check completion

  mesocosm COMMAND --help   Common: --json --plain --debug --results-dir DIR
"""
MOST_OPTIONS = 14
"""Options that a help may show, besides --help itself, unless it shows all."""


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",), ("help",)])
def test_the_program_alone_shows_one_screen(mesocosm: "Invoke", words: tuple[str, ...]) -> None:
    shown = mesocosm(*words)

    assert (shown.code, shown.out) == (0, HELP)


def test_all_commands_are_shown_on_request(mesocosm: "Invoke") -> None:
    shown = mesocosm("--help", "--all").out

    assert all(f"\n  {name} " in shown for name in TREE)


@pytest.mark.parametrize("words", [("run",), ("run", "--help")])
def test_run_alone_shows_its_commands(mesocosm: "Invoke", words: tuple[str, ...]) -> None:
    shown = mesocosm(*words)

    assert shown.code == 0
    assert all(f"\n  {name} " in shown.out for name in ("list", "show", "logs", "stop", "resume", "export"))
    assert "\n  local " not in shown.out
    assert shown.out.endswith("More: mesocosm run --help --all\n")
    assert all(f"\n  {name} " in mesocosm("run", "--help", "--all").out for name in ("local", "watch", "delete"))


def test_a_help_shows_a_handful_of_options_and_where_the_others_are(mesocosm: "Invoke") -> None:
    for path, command in every(program, ""):
        shown = [line for line in mesocosm(*path.split(), "--help").out.splitlines() if line.startswith("  -")]
        assert len(shown) <= MOST_OPTIONS + 1, path
        own: frozenset[str] = getattr(command, "own", frozenset())
        assert own <= {option for parameter in command.params for option in parameter.opts}, path
    assert "\nMore: mesocosm help settings, mesocosm bench run --help --all\n" in mesocosm("bench", "run", "--help").out
    assert "--cache FILE" in mesocosm("bench", "run", "--help", "--all").out
    assert mesocosm("help", "bench", "run").out == mesocosm("bench", "run", "--help", "--all").out


def test_settings_are_listed_with_their_defaults(mesocosm: "Invoke") -> None:
    assert "limits.retries " in mesocosm("help", "settings").out
    assert {"key", "type", "default", "meaning"} == set(mesocosm("help", "settings", "--json").document["items"][0])


def test_every_command_has_help_and_takes_the_common_options(mesocosm: "Invoke") -> None:
    for path, command in every(program, ""):
        assert mesocosm(*path.split(), "--help").code == 0, path
        assert command.help, path
        taken = {option for parameter in command.params for option in parameter.opts}
        assert {"--json", "--plain", "--debug", "--base-url", "--bench-url", "--results-dir"} <= taken, path
        assert all(p.help for p in command.params if isinstance(p, click.Option)), path


def test_lists_of_commands_say_whole_sentences_in_80_columns(
    mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    groups = [(path, command) for path, command in every(program, "") if isinstance(command, click.Group)]
    for path, _ in [("", program), *groups]:
        listed = mesocosm(*path.split(), "--help", "--all").out
        assert "..." not in listed.partition("\nCommands:\n")[2], path
        assert max(map(len, listed.splitlines())) <= 80, path


@pytest.mark.parametrize("words", ["--help", "run --help", "run local --help", "--version"])
def test_help_loads_nothing_heavy(words: str) -> None:
    asked = subprocess.run([sys.executable, "-c", LIGHT, *words.split()], capture_output=True, text=True, check=True)

    assert asked.stderr == "0 []\n"


def test_what_only_reads_loads_nothing_that_plays_or_serves(played: "Played", tmp_path: Path) -> None:
    command = [sys.executable, "-c", READ, played.run_id, *map(str, played.there)]
    asked = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)

    assert asked.stderr.splitlines() == [f"{words} 0 []" for words in READERS]


@pytest.mark.parametrize(("typed", "meant"), [("rnu", "run"), ("run locl", "local"), ("validat", "validate")])
def test_an_unknown_command_gets_a_suggestion(mesocosm: "Invoke", typed: str, meant: str) -> None:
    refused = mesocosm(*typed.split())

    assert refused.code == 2
    assert f"Did you mean '{meant}'?" in refused.err


def test_a_command_like_no_other_points_at_the_help(mesocosm: "Invoke") -> None:
    assert "Try 'mesocosm run --help'" in mesocosm("run", "xyzzy").err


@pytest.mark.parametrize("case", sorted(WITH_JSON))
def test_json_is_one_document_and_nothing_else(mesocosm: "Invoke", mine: "Played", here: Path, case: str) -> None:
    (here / "broken.json").write_text("{")
    if case.startswith("import"):
        mesocosm("run", "export", "last", "-o", here / "replay.json", *mine.there)
        mesocosm("export", "last", "-o", here / "run.zip", *mine.there)
    words = WITH_JSON[case].format(there=here, manifest=mine.manifest)

    told = mesocosm(*words.split(), *mine.there, "--json")

    document = json.loads(told.out)
    assert document
    assert ("error" in document) == (told.code in {2, 4})
    if told.code == 2:
        assert document["detail"] in told.err


@pytest.mark.parametrize("flag", ["--base-url", "--bench-url"])
@pytest.mark.parametrize("words", ["{} run list", "run {} list", "run list {}"])
def test_the_platforms_address_is_taken_anywhere_and_ignored_here(
    mesocosm: "Invoke", played: "Played", words: str, flag: str
) -> None:
    given = words.format(f"{flag} http://127.0.0.1:1").split()

    assert mesocosm(*given, *played.there).code == 0
    assert mesocosm(*words.format(f"{flag}=http://127.0.0.1:1").split(), *played.there).code == 0


@pytest.mark.parametrize("words", ["--json run list", "run --json list", "run list --json"])
def test_common_options_may_stand_anywhere(mesocosm: "Invoke", played: "Played", words: str) -> None:
    assert len(mesocosm(*words.split(), *played.there).document["items"]) == 1


def test_results_are_found_by_the_environment(
    mesocosm: "Invoke", played: "Played", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESOCOSM_RESULTS_DIR", str(played.results))

    assert played.run_id in mesocosm("run", "list").out


def test_a_store_is_named_by_its_url(mesocosm: "Invoke", played: "Played") -> None:
    url = f"sqlite:///{played.results}/orchestrator.sqlite"

    assert played.run_id in mesocosm("run", "list", "--database-url", url).out


def test_a_directory_on_the_line_goes_before_a_database_in_the_environment(
    mesocosm: "Invoke", played: "Played", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESOCOSM_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")

    assert mesocosm("run", "list", *played.there).code == 0
    assert mesocosm("run", "list").code == 4


def test_what_is_no_url_is_no_database(mesocosm: "Invoke", here: Path) -> None:
    refused = mesocosm("run", "list", "--database-url", "results")

    assert refused.code == 2
    assert "'results' is not a URL of a database; write postgresql://" in refused.err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("words", ["run list", "run show last", "run episodes x", "run watch x", "export x -o y.zip"])
def test_without_results_it_says_what_to_do(mesocosm: "Invoke", here: Path, words: str) -> None:
    refused = mesocosm(*words.split())

    assert refused.code == 2
    assert "there are no results at benchmark_results/orchestrator.sqlite; run something first" in refused.err
    assert list(here.iterdir()) == []


def test_an_error_of_ours_has_no_traceback_unless_debug_asks_for_it(mesocosm: "Invoke", here: Path) -> None:
    assert "Traceback" not in mesocosm("run", "list").err
    with pytest.raises(Exception, match="there are no results"):
        mesocosm("run", "list", "--debug")


def test_a_defect_is_called_one_and_exits_4(mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "probe", lambda url: {}[url])

    broken = mesocosm("doctor", "--json")

    assert broken.code == 4
    assert "error: KeyError: 'https://api.swecc.org/bench/health'" in broken.err
    assert "a defect in mesocosm; --debug shows" in broken.err
    assert broken.document["error"] == "KeyError"


def test_what_the_system_refuses_is_no_defect(mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch) -> None:
    def full(url: str) -> dict[str, object]:
        raise OSError(28, "No space left on device", "/results/file")

    monkeypatch.setattr(doctor, "probe", full)

    broken = mesocosm("doctor")

    assert (broken.code, broken.err) == (4, "error: /results/file: No space left on device\n")


def test_ctrl_c_says_that_it_interrupted(mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(url: str) -> dict[str, object]:
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "probe", interrupted)

    stopped = mesocosm("doctor")

    assert (stopped.code, stopped.err) == (130, "\ninterrupted\n")


def test_warnings_of_our_loggers_reach_standard_error(mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary-1234567890")

    def warn(url: str) -> dict[str, object]:
        logging.getLogger("mesocosm.models.somewhere").warning("%s was dropped", "canary-1234567890")
        logging.getLogger("mesocosm.models.somewhere").info("nobody asked")
        return {"status_code": 200, "error": None}

    monkeypatch.setattr(doctor, "probe", warn)

    told = mesocosm("doctor", "--json")

    assert told.err == "warning: [redacted] was dropped\n" * 2
    assert told.document["ok"]
    assert mesocosm("doctor").err.count("dropped") == 2, "a second command in this process adds no second handler"


@pytest.mark.parametrize("words", ["run list", "run episodes last --traces", "run export last", "plugins", "--help"])
def test_a_reader_that_goes_away_is_no_error(played: "Played", words: str) -> None:
    command = [sys.executable, "-m", "mesocosm", *words.split(), *played.there]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaint = process.stderr.read()

    assert (process.returncode, complaint) == (0, b"")


@pytest.mark.parametrize("words", ["run list", "run export last"])
def test_output_that_cannot_be_written_is_an_error(played: "Played", words: str) -> None:
    command = [sys.executable, "-m", "mesocosm", *words.split(), *played.there]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert ended.returncode == 4
    assert ended.stderr.startswith("error: ")
    assert ended.stderr.endswith("No space left on device\n")
    assert ended.stderr.count("\n") == 1


def test_a_stream_that_lacks_a_sign_gets_a_question_mark(played: "Played") -> None:
    command = [sys.executable, "-m", "mesocosm", "run", "show", "last", *played.there]
    shown = subprocess.run(command, capture_output=True, env={"PYTHONIOENCODING": "latin-1"}, check=False)

    assert (shown.returncode, shown.stderr) == (0, b"")
    assert "\nseeds      0?5\n".encode("latin-1") in shown.stdout


def test_the_group_of_runs_lists_its_commands_in_reading_order() -> None:
    context = click.Context(run_group, info_name="run")

    assert run_group.list_commands(context)[:3] == ["list", "show", "logs"]


def test_a_shell_can_complete_words() -> None:
    asked = {"_MESOCOSM_COMPLETE": "bash_complete", "COMP_WORDS": "mesocosm run re", "COMP_CWORD": "2"}
    start = "import sys; from mesocosm.cli.main import main; sys.argv[1:] = []; main()"
    completed = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, env=asked, check=False)

    assert completed.stdout.split() == ["plain,resume", "plain,rescore", "plain,rename"]


def test_the_program_looks_for_garbage_seldom_and_who_calls_it_as_usual() -> None:
    start = (
        "import atexit, gc; from mesocosm.cli import main; atexit.register(lambda: print(gc.get_threshold()[0]));"
        "before = gc.get_threshold(); main.call(['--version']); assert gc.get_threshold() == before;"
        "main.main(['--version'])"
    )
    ended = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, check=True)

    assert int(ended.stdout.split()[-1]) > 2_000
