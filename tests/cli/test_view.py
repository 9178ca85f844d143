"""`mesocosm view` as a program, and the link to the page of a run."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import msgspec
import pytest

from mesocosm.api import viewing as link
from mesocosm.cli.command import CommonOptions
from mesocosm.cli.viewer_server import ViewedStore
from mesocosm.core.ports import Observer
from mesocosm.core.run import LeaseOwner, RunStatus
from mesocosm.store import open_store
from mesocosm.store.lease_owner import alive, this_process

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Played

pytestmark = pytest.mark.usefixtures("forked")

PATIENCE = 120.0
SPAWN = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"


class Viewer:
    """A `mesocosm view` that runs beside the test."""

    def __init__(self, *words: str | Path, **variables: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mesocosm", "view", "--json", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
        )
        said = ""
        assert self.process.stdout is not None
        while not said.endswith("}\n"):
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read() if self.process.stderr else ""
            said += line
        self.document: dict[str, Any] = json.loads(said)
        self.url = str(self.document["url"])

    def get(self, path: str) -> Any:
        """Return a document."""
        answer = httpx.get(f"{self.url}{path}", timeout=PATIENCE, trust_env=False)
        assert answer.status_code == 200
        return answer.json()

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Send a signal; return the exit code and what it said to people."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """Wait for its end."""
        _, said = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said


View = Callable[..., Viewer]


@pytest.fixture
def view() -> Iterator[View]:
    """Return what starts a viewer beside the test, on any free port; none outlives it."""
    started: list[Viewer] = []

    def begin(*words: str | Path, port: int = 0, **variables: str) -> Viewer:
        opens = () if variables else ("--no-open",)
        started.append(Viewer("--port", str(port), *opens, *words, **variables))
        return started[-1]

    yield begin
    for viewer in started:
        if viewer.process.poll() is None:
            viewer.process.kill()
        viewer.process.communicate()


def until(true: Callable[[], bool]) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_shows_the_results_until_a_signal_ends_it_in_order(mine: "Played", view: View, number: int) -> None:
    viewer = view(*mine.there)
    assert [run["id"] for run in viewer.get("/api/runs")["items"]] == [mine.run_id]
    assert (mine.results / link.NOTE).exists()
    assert viewer.end(number) == (0, "")
    assert not (mine.results / link.NOTE).exists()


def test_an_open_stream_does_not_keep_it_from_ending(mine: "Played", view: View) -> None:
    viewer = view(*mine.there)
    with httpx.stream("GET", f"{viewer.url}/api/live", timeout=PATIENCE, trust_env=False) as response:
        assert response.status_code == 200
        assert viewer.end() == (0, "")


def test_where_there_are_no_results_it_makes_nothing_and_waits_for_them(
    mesocosm: "Invoke", scaffolded: Path, tmp_path: Path, view: View
) -> None:
    results = tmp_path / "results"
    viewer = view("--results-dir", results)
    assert viewer.get("/api/runs")["items"] == []
    assert not results.exists()
    words = ("--model", "builtin/oracle", "--episodes", "1", "--quiet", "--results-dir", results)
    assert mesocosm("run", "local", "--manifest", scaffolded / "benchanything.json", *words).code == 0
    until(lambda: len(viewer.get("/api/runs")["items"]) == 1)
    until((results / link.NOTE).exists)
    assert viewer.end() == (0, "")


def test_a_second_viewer_of_the_same_results_names_the_first(mine: "Played", view: View, mesocosm: "Invoke") -> None:
    viewer = view(*mine.there)
    outcome = mesocosm("view", "--no-open", *mine.there)
    assert outcome.code == 0
    assert f"is already running: {viewer.url}" in outcome.out
    document = mesocosm("view", "--no-open", "--json", *mine.there).document
    assert (document["url"], document["started"]) == (viewer.url, False)
    page = mesocosm("view", "last", "--no-open", *mine.there, "--json").document
    assert page["url"] == f"{viewer.url}/runs/{mine.run_id}"


def test_a_port_that_is_taken_is_told_and_the_next_one_used(mine: "Played", view: View) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        viewer = view(*mine.there, port=taken)
        assert viewer.get("/api/health")["status"] == "ok"
        code, said = viewer.end()
    assert code == 0
    assert f"port {taken} is taken by something else; using {viewer.url.rpartition(':')[2]}" in said


def test_an_address_that_others_reach_comes_with_a_warning(mine: "Played", view: View) -> None:
    viewer = view(*mine.there, "--host", "0.0.0.0")
    assert viewer.url.startswith("http://127.0.0.1:")
    assert "there is no login" in viewer.end()[1]


def test_it_ends_by_itself_when_nobody_looks(mine: "Played", view: View) -> None:
    assert view(*mine.there, "--idle-minutes", "0.001").ended() == (0, "")


def test_it_ends_by_itself_when_the_results_are_gone(mine: "Played", view: View) -> None:
    viewer = view(*mine.there, "--idle-minutes", "10")
    mine.results.joinpath("orchestrator.sqlite").unlink()
    assert viewer.ended() == (0, "")


def test_it_does_not_end_by_itself_while_a_run_goes_on(mine: "Played") -> None:
    store = open_store(mine.results)
    run = msgspec.structs.replace(mine.run, status=RunStatus.RUNNING)
    results = ViewedStore(CommonOptions(results_dir=str(mine.results)))
    assert not results.busy()
    store.leases.take(run.id, store.leases.owner())
    store.runs.save(run)
    assert results.busy()
    store.leases.release(run.id, store.leases.owner())
    assert not results.busy(), "its process is gone"
    results.close()
    store.close()


def test_the_page_is_opened_in_the_browser(mine: "Played", view: View, tmp_path: Path) -> None:
    command, said = browser(tmp_path)
    viewer = view(*mine.there, BROWSER=command, CI="")
    until(said.exists)
    assert said.read_text().strip() == viewer.url


def test_the_page_of_a_viewer_that_runs_already_is_opened_too(mine: "Played", view: View, tmp_path: Path) -> None:
    viewer = view(*mine.there)
    command, said = browser(tmp_path)
    words = [sys.executable, "-m", "mesocosm", "view", *map(str, mine.there)]
    subprocess.run(words, check=True, timeout=PATIENCE, env={**os.environ, "BROWSER": command, "CI": ""})
    assert said.read_text().strip() == viewer.url


def test_no_browser_is_opened_in_ci_or_without_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert not link.open_browser("http://127.0.0.1:1")
    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.setenv("CI", "true")
    assert not link.open_browser("http://127.0.0.1:1")


# The link


@pytest.fixture
def words(scaffolded: Path, tmp_path: Path) -> tuple[str | Path, ...]:
    """Return a command line that plays two episodes."""
    manifest = scaffolded / "benchanything.json"
    return ("run", "local", "--manifest", manifest, "--model", "builtin/oracle", "--episodes", "2",
            "--results-dir", tmp_path / "results")  # fmt: skip


def terminal(*words: str | Path) -> str:
    """Run a command line on a terminal and return what it showed."""
    kept = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "24"}
    command = [sys.executable, "-c", SPAWN, sys.executable, "-m", "mesocosm", *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, env=kept, timeout=PATIENCE, check=True, stdin=subprocess.DEVNULL
    )
    return done.stdout.decode()


def test_on_a_terminal_a_run_starts_a_viewer_and_prints_the_link_to_its_page(
    words: tuple[str | Path, ...], tmp_path: Path, mesocosm: "Invoke"
) -> None:
    shown = terminal(*words)
    page = next(word for word in shown.split() if "/runs/" in word and word.startswith("http"))
    note = tmp_path / "results" / link.NOTE
    until(note.exists)
    viewer = msgspec.json.decode(note.read_bytes(), type=link.RunningViewer)
    try:
        assert page == f"{viewer.url}/runs/{page.rpartition('/')[2]}"
        document = httpx.get(page.replace("/runs/", "/api/runs/"), timeout=PATIENCE, trust_env=False).json()
        assert document["id"] == page.rpartition("/")[2]
        assert "it ends after 10 minutes without a visitor" in shown
        again = mesocosm(*words)
        assert f"watch it live: {viewer.url}/runs/" in again.err, "the running viewer is named, on no terminal too"
        assert "in the background" not in again.err
        assert f"\n  {viewer.url}/runs/" in again.out, "and at the end beside the commands"
    finally:
        os.kill(viewer.process.pid, signal.SIGTERM)
        until(lambda: alive(viewer.process) is False)


def test_elsewhere_nothing_is_started_and_the_command_is_named(
    words: tuple[str | Path, ...], tmp_path: Path, mesocosm: "Invoke"
) -> None:
    outcome = mesocosm(*words)
    assert outcome.code == 0
    assert "look at it in the browser: mesocosm view" in outcome.err
    assert "\n  mesocosm view    in the browser\n" in outcome.out
    assert not (tmp_path / "results" / link.NOTE).exists()


@pytest.mark.parametrize("option", ["--no-view", "--quiet"])
def test_who_wants_no_link_gets_none(words: tuple[str | Path, ...], mesocosm: "Invoke", option: str) -> None:
    outcome = mesocosm(*words, option)
    assert "view" not in outcome.err
    assert "mesocosm view" not in outcome.out


def test_a_run_goes_on_when_no_viewer_can_be_started(
    words: tuple[str | Path, ...], mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("mesocosm.cli.viewer_link.start", fail)
    outcome = mesocosm(*words, "--view")
    assert outcome.code == 0
    assert "no viewer could be started" in outcome.err


class Heard(Observer):
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def notice(self, message: str) -> None:
        """Keep a line."""
        self.lines.append(message)


def browser(place: Path) -> tuple[str, Path]:
    """Return the command of a browser that writes the address that it opens into a file, and that file."""
    said, program = place / "opened", place / "browser"
    program.write_text(f'#!/bin/sh\necho "$1" > {said}.part && mv {said}.part {said}\n')
    program.chmod(0o755)
    return f"{program} %s", said


def test_the_demo_opens_the_page_of_its_first_run_and_the_viewer_stays(tmp_path: Path) -> None:
    command, opened = browser(tmp_path)
    results = tmp_path / "results"
    quickly = "import mesocosm.cli.demo as demo; demo.WATCHABLE_S = 1; from mesocosm.cli.main import main; main()"
    words = ["demo", "--view", "--episodes", "2", "--results-dir", str(results)]
    done = subprocess.run(
        [sys.executable, "-c", quickly, *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "BROWSER": command, "CI": ""},
        check=True,
    )
    until(opened.exists)
    until((results / link.NOTE).exists)
    viewer = msgspec.json.decode((results / link.NOTE).read_bytes(), type=link.RunningViewer)
    try:
        first = done.stderr.partition("\nrun ")[2].split()[0]
        assert opened.read_text().strip() == f"{viewer.url}/runs/{first}"
        assert "Playing for about 1 s" in done.stderr
        assert "ends 10 minutes after the last look; mesocosm view starts another" in done.stdout
        assert httpx.get(f"{viewer.url}/api/runs", timeout=PATIENCE, trust_env=False).json()["total"] == 2
    finally:
        os.kill(viewer.process.pid, signal.SIGTERM)
        until(lambda: alive(viewer.process) is False)


@pytest.mark.parametrize("change", ["dead", "recycled", "other store", "elsewhere", "garbage"])
def test_a_note_is_believed_only_of_the_process_that_left_it(tmp_path: Path, change: str) -> None:
    me = this_process()
    with socket.create_server(("127.0.0.1", 0)) as busy:
        url = f"http://127.0.0.1:{busy.getsockname()[1]}"
        right = link.RunningViewer(url, "/here", me)
        (tmp_path / link.NOTE).write_bytes(msgspec.json.encode(right))
        assert link.running(tmp_path, "/here") == right, "too busy to answer, but alive"
        wrong = {
            "dead": link.RunningViewer(url, "/here", LeaseOwner(me.host, 2**22 + 1, me.started, me.boot)),
            "recycled": link.RunningViewer(url, "/here", LeaseOwner(me.host, me.pid, me.started - 1, me.boot)),
            "other store": link.RunningViewer(url, "/there", me),
            "elsewhere": link.RunningViewer(url, "/here", LeaseOwner("another-host", me.pid, me.started, me.boot)),
            "garbage": {"url": 1},
        }[change]
        (tmp_path / link.NOTE).write_bytes(msgspec.json.encode(wrong))
        assert link.running(tmp_path, "/here") is None


def test_a_viewer_that_does_not_listen_any_more_is_none(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}"
    (tmp_path / link.NOTE).write_bytes(msgspec.json.encode(link.RunningViewer(url, "/here", this_process())))
    assert link.running(tmp_path, "/here") is None


def test_a_note_in_a_directory_that_cannot_be_written_is_left_out(tmp_path: Path) -> None:
    with link.noted(tmp_path / "missing", "http://127.0.0.1:1", "/here"):
        assert list(tmp_path.iterdir()) == []


def test_a_site_is_exported(
    played: "Played", mesocosm: "Invoke", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = tmp_path / "app"
    app.mkdir()
    page = '<base href="/" /><script type="application/json" id="place">{"mode":"laptop"}</script>'
    (app / "index.html").write_text(page)
    monkeypatch.setattr("mesocosm.server.site.site.built_viewer", lambda: app)
    outcome = mesocosm("export", "last", "--site", tmp_path / "public", *played.there)
    assert outcome.code == 0, outcome.err
    assert "1 run, 6 episodes" in outcome.out
    assert "http.server" in outcome.out
    assert (tmp_path / "public" / "data" / "runs" / played.run_id / "detail.json").is_file()
    document = mesocosm("export", "last", "--site", tmp_path / "public", "--json", *played.there).document
    assert document["runs"] == [played.run_id]


@pytest.mark.parametrize("words", [(), ("-o", "runs.zip", "--site", "public")])
def test_an_export_has_one_target(played: "Played", mesocosm: "Invoke", here: Path, words: tuple[str, ...]) -> None:
    outcome = mesocosm("export", "last", *words, *played.there)
    assert outcome.code == 2
    assert "-o NAME.zip" in outcome.err
    assert list(here.iterdir()) == []
