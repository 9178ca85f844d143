"""What people see on a terminal, and what they see when they want no decoration."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Played

pytestmark = pytest.mark.usefixtures("forked")

SPAWN = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
BOXES = re.compile("[━─│┃┏╭]")
PROMPT = b"\r\n> "


@dataclass(frozen=True)
class Screen:
    code: int
    text: str

    @property
    def bare(self) -> bool:
        return "\x1b" not in self.text and not BOXES.search(self.text.replace("── seed", ""))


def terminal(*words: str | Path, answers: Sequence[str] = (), variables: Mapping[str, str] = {}) -> Screen:
    """Run a command line in a terminal of 80 columns; each answer is typed when a prompt appears."""
    settings = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
    settings |= {"MESOCOSM_NO_VIEW": "1", **variables}
    command = [sys.executable, "-c", SPAWN, sys.executable, "-m", "mesocosm", *map(str, words)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=settings) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        seen, waiting = b"", list(answers)
        while piece := os.read(process.stdout.fileno(), 65536):
            seen += piece
            if waiting and seen.count(PROMPT) > len(answers) - len(waiting):
                process.stdin.write(f"{waiting.pop(0)}\n".encode())
                process.stdin.flush()
    return Screen(process.returncode, seen.decode())


@pytest.fixture
def run(played: "Played", tmp_path: Path) -> tuple[str | Path, ...]:
    words = ("--model", "builtin/oracle", "--episodes", "5", "--results-dir", tmp_path)
    return ("run", "local", "--manifest", played.manifest, *words)


def test_a_run_shows_a_bar_that_goes_away(run: tuple[str, ...]) -> None:
    screen = terminal(*run)

    assert screen.code == 0
    assert "━" in screen.text
    assert "/5 · accuracy" in screen.text
    assert "\x1b[?25l" in screen.text
    assert screen.text.count("\x1b[?25l") == screen.text.count("\x1b[?25h"), "the cursor is back"
    assert "[1/5] seed=" not in screen.text
    assert "5/5 scoreable" in screen.text


@pytest.mark.parametrize("wish", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_nothing_is_drawn_for_those_who_want_none(run: tuple[str, ...], wish: dict[str, str]) -> None:
    screen = terminal(*run, *(() if wish else ("--plain",)), variables=wish)

    assert screen.code == 0
    assert screen.bare
    assert "[5/5] seed=4 reward=1.00" in screen.text


COMMANDS = ["run list", "run show last", "run episodes last", "run episodes last --traces", "plugins", "--help"]


@pytest.mark.parametrize("command", COMMANDS)
def test_listings_obey_no_color(played: "Played", command: str) -> None:
    assert terminal(*command.split(), *played.there, variables={"NO_COLOR": "1"}).bare


@pytest.mark.parametrize("command", COMMANDS[:4])
def test_listings_on_a_terminal_are_for_people(played: "Played", command: str) -> None:
    screen = terminal(*command.split(), *played.there)

    assert screen.code == 0
    assert "\x1b[1m" in screen.text
    assert not screen.text.startswith("{")


def test_the_list_of_runs_fits_a_narrow_terminal(played: "Played") -> None:
    text = re.sub("\x1b\\[[0-9;]*m", "", terminal("run", "list", *played.there).text)

    assert all(len(line) <= 80 for line in text.splitlines())
    assert f"\n{played.run_id[:18]}  finished  " in text.replace("\r", "")
    assert re.search(r"\[\d\.\d{4}, \d\.\d{4}\]", text), "an interval is in one piece"


def test_the_list_of_evaluations_has_name_state_and_reward_in_one_piece_on_a_narrow_terminal(tmp_path: Path) -> None:
    workspace, results = tmp_path / "workspace", ("--results-dir", tmp_path / "results")
    assert terminal("eval", "init", "sums", "--dir", workspace).code == 0
    played = terminal("eval", "run-local", workspace / "configs/eval/sums.toml", "--in-process", "--quiet", *results)
    assert played.code == 0, played.text

    text = re.sub("\x1b\\[[0-9;]*m", "", terminal("eval", "list", *results).text).replace("\r", "")

    assert all(len(line) <= 80 for line in text.splitlines())
    assert re.search(r"^sums-\S{25}  finished .* 1\.0000 \[0\.\d{4}, 1\.0000\] weak\s*$", text, re.MULTILINE), text


def test_ids_of_benchmarks_are_in_one_piece_on_a_narrow_terminal() -> None:
    assert re.search(r"^orchestrator_lifecycle  environment ", terminal("bench", "list-benchmarks").text, re.MULTILINE)


def test_the_result_of_a_benchmark_is_one_line_on_a_narrow_terminal(tmp_path: Path) -> None:
    words = ("--model", "builtin/oracle", "--max-examples", "3", "--quiet", "--results-dir", tmp_path)
    text = re.sub("\x1b\\[[0-9;]*m", "", terminal("bench", "run", "--benchmarks", "context-bench", *words).text)

    assert re.search(
        r"^context-bench  succeeded  1\.0000  \[0\.4385, 1\.0000\] weak  3/3  [0-9a-f-]{18}\s*$", text, re.MULTILINE
    )


def test_json_stays_json_on_a_terminal(played: "Played") -> None:
    screen = terminal("run", "show", "last", "--json", *played.there)

    assert screen.text.startswith("{\r\n")
    assert screen.bare


def test_problems_of_a_document_are_told_in_colour_beside_the_json(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")

    screen = terminal("validate", tmp_path / "x.json")

    assert screen.code == 1
    assert "\x1b[31m✗ binding_vow: is required, but missing" in screen.text
    assert terminal("validate", tmp_path / "x.json", variables={"NO_COLOR": "1"}).bare


def test_doctor_speaks_in_lines_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    nobody = {"MESOCOSM_BASE_URL": "http://127.0.0.1:9", "SWECC_BENCH_CREDENTIALS": str(tmp_path / "none.json")}

    screen = terminal("doctor", variables=nobody)

    assert screen.code == 1
    assert screen.text.startswith("\x1b[32mok  \x1b[0m     mesocosm ")
    assert "server   http://127.0.0.1:9 has problems" in screen.text
    assert "\x1b[31m✗ http://127.0.0.1:9 does not answer" in screen.text
    assert "✗" not in terminal("doctor", "--json", variables=nobody).text


def test_a_person_plays_at_the_terminal(played: "Played", tmp_path: Path) -> None:
    words = ("--manifest", played.manifest, "--model", "builtin/human", "--seeds", "7", "--results-dir", tmp_path)
    screen = terminal("run", "local", *words, answers=("25", "12", "18", "21"))

    assert screen.code == 0
    assert "── seed-7 · step 1" in screen.text
    assert '"guesses_left": 3' in screen.text
    assert "Action: one whole number between 1 and 50" in screen.text
    assert "[1/1] seed=7 reward=1.00  steps=4" in screen.text
    assert "\x1b[?25l" not in screen.text, "a bar would draw over the questions"


def test_without_a_terminal_nobody_can_play(played: "Played", tmp_path: Path) -> None:
    words = ["--manifest", str(played.manifest), "--model", "builtin/human", "--results-dir", str(tmp_path)]
    command = [sys.executable, "-m", "mesocosm", "run", "local", *words]

    refused = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, start_new_session=True
    )

    assert refused.returncode == 2
    assert "builtin/human needs a terminal" in refused.stderr
