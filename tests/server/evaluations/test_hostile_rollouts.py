"""Rollouts that want to harm the server or to get a secret out of it, run by a worker like any other."""

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from tests.server.evaluations.conftest import CONFIG, FILES, Team

from mesocosm.sandboxes.bubblewrap import available
from mesocosm.sandboxes.tree import below

pytestmark = [
    pytest.mark.usefixtures("forked_checks"),
    pytest.mark.skipif(not available(), reason="there is no bubblewrap"),
]

VALUE = "tok-9f8e7d6c5b4a3210"
HOSTILE = """
import base64, json, os, socket, subprocess, sys, threading, time
from osmosis_ai.rollout import AgentWorkflow, AgentWorkflowConfig, Grader, get_rollout_context

TOKEN = os.environ.get("TOKEN", "")

def attempt(what, *arguments):
    try:
        return f"achieved: {what(*arguments)!r:.300}"
    except BaseException as error:
        return f"no: {type(error).__name__}"

class Player(AgentWorkflow[AgentWorkflowConfig]):
    async def run(self, ctx):
        return [*ctx.prompt, {"role": "assistant", "content": "nothing"}]

class Judge(Grader):
    async def grade(self, ctx):
        place = ctx.artifacts_dir
        place.mkdir(parents=True, exist_ok=True)
        ctx.set_reward(0.0)
        ACT
"""


def played(team: Team, folder: Path, act: str, limit: int = 1) -> dict[str, Any]:
    """Run rows whose grader does something, and return the document of the run."""
    team.owner.request("PUT", f"/api/workspaces/{team.workspace}/secrets/workspace/TOKEN", json={"value": VALUE})
    config = f'{CONFIG}\n[secrets]\nrequired = ["TOKEN"]\n'
    main = HOSTILE.replace("ACT", "\n        ".join(act.strip().splitlines()))
    team.snapshot = team.add_code({**FILES, "rollouts/sums/main.py": main, "configs/eval/sums.toml": config}, folder)
    run = team.submitted(limit=limit)
    team.work()
    found: dict[str, Any] = team.run(run["id"])
    return found


def files(team: Team, run_id: str) -> dict[str, bytes]:
    """Return the artifacts of a run."""
    listed = team.owner.get(f"/api/runs/{run_id}/artifacts").json()["items"]
    return {one["name"]: team.owner.get(f"/api/blobs/{one['digest']}").content for one in listed}


def stored(team: Team) -> str:
    """Return every text and every uncompressed content that the server has stored."""
    store = team.service.store

    def work(connection: Any) -> str:
        names = [row[0] for row in connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'"))]
        rows = [list(map(str, row)) for name in names for row in connection.execute(text(f'SELECT * FROM "{name}"'))]
        digests = [row[0] for row in connection.execute(text("SELECT digest FROM blobs"))]
        return json.dumps(rows) + "".join(store.blobs.get(one).data.decode("latin-1") for one in digests)

    return store.database.read(work)


def test_a_secret_in_the_name_of_a_file_or_in_bytes_that_are_no_text_is_not_stored(team: Team, tmp_path: Path) -> None:
    act = r"""
(place / f"{TOKEN}.txt").write_text("x")
(place / TOKEN).mkdir()
(place / TOKEN / "inner.bin").write_bytes(b"\xff\xfe" + TOKEN.encode() + b"\x80")
"""
    run = played(team, tmp_path / "code", act)
    found = files(team, run["id"])
    assert {content.replace(b"[redacted]", b"R") for content in found.values()} == {b"x", b"\xff\xfeR\x80"}
    assert VALUE not in stored(team)


def test_odd_names_and_links_of_artifacts_do_no_harm(team: Team, tmp_path: Path) -> None:
    act = r"""
for name in (b"new\nline", b"\xff\xfe", b"\x1b[31mred", b"..hidden..", b"a" * 255, "\u202egpj.exe".encode(), b"-rf"):
    open(bytes(place) + b"/" + name, "w").write("odd")
os.symlink("/etc/passwd", place / "passwd")
os.symlink("/", place / "root")
os.mkfifo(place / "pipe")
deep = place
for _ in range(12):
    deep = deep / "d"
    deep.mkdir()
(deep / "bottom").write_text("deep")
"""
    run = played(team, tmp_path / "code", act)
    assert (run["state"], run["counts"]["completed"]) == ("finished", 1), run["error"]
    found = files(team, run["id"])
    assert sorted(set(found.values())) == [b"deep", b"odd"]
    assert len(found) == 8, sorted(found)
    assert not [name for name in found if "root:" in name or name.startswith(("/", "../"))]


REACHING = """
import glob
places = PLACES
said = {f"connect {host}": attempt(socket.create_connection, (host, port), 2) for host, port in places["hosts"]}
said["unix"] = attempt(socket.socket(socket.AF_UNIX).connect, places["local"])
said["name"] = attempt(socket.getaddrinfo, "example.com", 80)
said["kill"] = attempt(os.kill, places["pid"], 0)
for path in places["files"]: said[path] = attempt(lambda: open(path, "rb").read(100))
said["folder"] = attempt(os.listdir, places["folder"])
environs = [attempt(lambda: open(one, "rb").read()) for one in glob.glob("/proc/*/environ")]
(place / "said.json").write_text(json.dumps([said, environs]))
"""


def test_a_rollout_reaches_nothing_of_the_server(team: Team, tmp_path: Path) -> None:
    data, pid = team.service.settings.data_dir.absolute(), os.getpid()
    other = data / "run-files" / "of-another"
    other.mkdir(parents=True)
    (other / "output.log").write_text("swordfish")
    team.owner.request("PUT", f"/api/workspaces/{team.workspace}/secrets/workspace/TOKEN", json={"value": VALUE})
    keys = [path for path in data.rglob("*") if path.is_file() and "key" in path.name]
    assert keys
    files_of_ours = [other / "output.log", tmp_path / "results" / "orchestrator.sqlite", *keys, f"/proc/{pid}/environ"]
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket(socket.AF_UNIX) as local:
        local.bind(str(data / "local.socket"))
        local.listen()
        places = {
            "hosts": [("127.0.0.1", listening.getsockname()[1]), ("169.254.169.254", 80), ("1.1.1.1", 53)],
            "local": str(data / "local.socket"),
            "files": ["/etc/shadow", *map(str, files_of_ours)],
            "folder": str(other),
            "pid": pid,
        }
        run = played(team, tmp_path / "code", REACHING.replace("PLACES", repr(places)))
    said, environs = json.loads(files(team, run["id"])["said.json"])
    assert len(said) == 8 + len(files_of_ours)
    assert {what: how for what, how in said.items() if not how.startswith("no: ")} == {}
    assert environs
    assert not [one for one in environs if "MESOCOSM_" in one or "PYTEST" in one]


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("while True: os.fork()", ""),
        ("open(place / 'big', 'wb').truncate(1 << 40)", "File too large"),
        ("while True: os.write(1, b'x' * 65536)", "output"),
        ("keep = [bytearray(1 << 28) for _ in range(64)]", "memory"),
        ("os.kill(os.getppid(), 9); os.kill(-1, 9); time.sleep(60)", "ended"),
    ],
    ids=["forks", "disk", "output", "memory", "killing"],
)
def test_a_rollout_that_takes_too_much_is_no_result_and_says_why(
    team: Team, tmp_path: Path, act: str, words: str
) -> None:
    run = played(team, tmp_path / "code", act)
    assert run["state"] != "finished" or run["primary"]["value"] is None, (run["state"], run["primary"])
    listed = team.owner.get(f"/api/runs/{run['id']}/episodes").json()["items"]
    episodes = [team.owner.get(f"/api/episodes/{one['id']}").text for one in listed]
    assert words in json.dumps([run["error"], episodes]), (run["error"], episodes)
    assert not list((team.service.settings.data_dir / "run-files").glob("*"))


def test_of_very_many_files_of_a_row_a_thousand_are_kept(team: Team, tmp_path: Path) -> None:
    run = played(team, tmp_path / "code", "for number in range(1_100): (place / str(number)).write_text('')")
    (episode,) = team.owner.get(f"/api/runs/{run['id']}/episodes").json()["items"]
    assert len(team.owner.get(f"/api/episodes/{episode['id']}").json()["artifacts"]) == 1_000


def test_daemons_of_a_rollout_end_with_its_run(team: Team, tmp_path: Path) -> None:
    before = set(below(os.getpid()))
    act = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        import signal
        for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
        time.sleep(600)
    os._exit(0)
"""
    run = played(team, tmp_path / "code", act)
    assert run["state"] == "finished", run["error"]
    assert not set(below(os.getpid())) - before
