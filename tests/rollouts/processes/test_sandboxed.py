"""Rollouts of strangers in a sandbox: rows end as they do plainly, and the code reaches nothing that is not its own."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.failure import Cause, EpisodeError, MesocosmError
from mesocosm.proxy.server import ProxyReply, ProxyRequest, ProxyServer
from mesocosm.rollouts.executor import LineLog, ModelAccess, RowJob, RowOutcome
from mesocosm.rollouts.processes.executor import ProcessExecutor
from mesocosm.rollouts.processes.sandboxed import WorkerSandbox
from mesocosm.sandboxes import sandbox as sandbox_module
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.tree import below
from mesocosm.sandboxes.watches import Flood

pytestmark = pytest.mark.skipif(not available(), reason=available().reason)

Working = Callable[..., RowJob]
Opened = Callable[..., Awaitable[ProcessExecutor]]

MAIN = """
import asyncio, ctypes, errno, glob, json, os, signal, socket, subprocess, sys, threading, time, urllib.request
from mesocosm.rollouts import AgentWorkflow, AgentWorkflowConfig, Grader, LocalBackend, complete

def attempt(what, *arguments):
    try:
        return f"achieved: {what(*arguments)!r:.200}"
    except BaseException as error:
        return f"no: {type(error).__name__}"

def read(path):
    with open(path, "rb") as file:
        return file.read(1000)

def write(path):
    with open(path, "w") as file:
        file.write("mark")

def connect(host, port):
    socket.create_connection((host, port), 2).close()

class Script(AgentWorkflow):
    async def run(self, ctx):
        scope = dict(globals(), ctx=ctx, said=[])
        lines = ctx.prompt[-1]["content"].splitlines()
        exec("\\n    ".join(["async def work():", *lines]), scope)
        await scope["work"]()
        return [*ctx.prompt, {"role": "assistant", "content": json.dumps(scope["said"])}]

class Right(Grader):
    async def grade(self, ctx):
        ctx.set_reward(1.0)

backend = LocalBackend(workflow=Script, grader=Right, workflow_config=AgentWorkflowConfig(name="script"))
"""


def said(ended: RowOutcome) -> list[str]:
    assert ended.failure is None, ended.failure
    assert ended.sample is not None
    found: list[str] = json.loads(str(ended.sample.messages[-1]["content"]))
    return found


def failure(ended: RowOutcome) -> str:
    assert ended.failure is not None
    return ended.failure.message


@pytest.fixture
def rollout(tmp_path: Path) -> Path:
    folder = tmp_path / "rollout"
    folder.mkdir()
    (folder / "main.py").write_text(MAIN)
    return folder


@pytest.fixture
def _nothing_left() -> Iterator[None]:
    before = set(below(os.getpid()))
    yield
    assert not set(below(os.getpid())) - before


@pytest.fixture
async def boxed(_nothing_left: None, tmp_path: Path, rollout: Path, notices: list[str]) -> AsyncIterator[Opened]:
    places = []

    async def boxed(environment: Mapping[str, str] = {}, sandbox: WorkerSandbox | None = None, **options: Any) -> Any:
        place = ProcessExecutor(
            rollout,
            "main.py",
            environment=environment,
            installs=tmp_path / "installs",
            sandbox=sandbox or WorkerSandbox(),
            **options,
        )
        places.append(place)
        await place.open(notices.append)
        return place

    yield boxed
    for place in places:
        await place.close()


@pytest.fixture
async def listening() -> AsyncIterator[int]:
    """A port of this machine that is none of the rollout's business, say that of a database."""
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def play(place: ProcessExecutor, job: RowJob, log: LineLog = lambda stream, line: None) -> RowOutcome:
    async with asyncio.timeout(300):
        return await place.run(job, log)


async def test_a_row_ends_as_it_does_plainly(boxed: Opened, working: Working) -> None:
    lines: list[tuple[str, str]] = []
    ended = await play(await boxed(), working("print('hello')\nsaid.append('done')"), lambda *line: lines.append(line))
    assert (said(ended), ended.graded) == (["done"], True)
    assert ("stdout", "hello") in lines


async def test_the_network_is_closed_but_for_the_proxy(boxed: Opened, working: Working, listening: int) -> None:
    asked: list[str] = []

    async def answer(request: ProxyRequest, reply: ProxyReply) -> None:
        asked.append(f"{request.path} {request.headers.get('authorization')}")
        message = {"role": "assistant", "content": "four"}
        await reply.send(200, json.dumps({"choices": [{"index": 0, "message": message}]}).encode())

    proxy = ProxyServer(answer)
    root = await proxy.start()
    own = int(root.rpartition(":")[2])
    job = working(
        f"""
answer = await complete(ctx.prompt)
said.append(str(answer))
for place in [("127.0.0.1", {listening}), ("127.0.0.1", {own}), ("1.1.1.1", 443), ("169.254.169.254", 80)]:
    said.append(attempt(connect, *place))
said.append(attempt(socket.getaddrinfo, "example.org", 443))
"""
    )
    try:
        place = await boxed()
        answered, *others = said(await play(place, replace(job, model=ModelAccess(f"{root}/a/v1", "token", "m"))))
    finally:
        await proxy.stop()
    assert "four" in answered
    assert asked == ["/a/v1/chat/completions Bearer token"]
    assert [words.partition(":")[0] for words in others] == ["no"] * 5, others


async def test_hosts_of_the_list_are_reached_and_no_others(boxed: Opened, working: Working) -> None:
    place = await boxed(sandbox=WorkerSandbox(hosts=["allowed.invalid"]))
    job = working("""
for host in ("allowed.invalid", "other.invalid"):
    try:
        await asyncio.to_thread(urllib.request.urlopen, f"http://{host}/", timeout=10)
    except urllib.error.HTTPError as error:
        said.append(error.read().decode())
""")
    allowed, other = said(await play(place, job))
    assert "the host name cannot be resolved" in allowed
    assert "this host is not allowed; there are: allowed.invalid" in other


async def test_files_of_this_machine_are_not_read(boxed: Opened, working: Working, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "server.sqlite").write_text("hashes of passwords")
    (data / "artifacts").mkdir()
    places = [data / "server.sqlite", tmp_path / "artifacts", Path(__file__), Path("/etc/shadow"), Path.home()]
    shown = [str(place) for place in places]
    job = working(f"""
for place in {shown}:
    said.append(attempt(os.listdir if os.path.isdir(place) else read, place))
said.append(read("/etc/passwd").decode())
""")
    *hidden, accounts = said(await play(await boxed(), job))
    assert [words.partition(":")[0] for words in hidden[:-1]] == ["no"] * 4, hidden
    # Folders above those that it may see exist, with nothing else in them.
    assert hidden[-1].startswith("no") or not set(json.loads(hidden[-1][10:].replace("'", '"'))) - {".pyenv"}
    assert accounts.startswith("environment:")
    assert len(accounts.splitlines()) == 1


async def test_variables_are_the_declared_ones(
    boxed: Opened, working: Working, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-canary")
    monkeypatch.setenv("LOGNAME", "planted-canary")
    log_file = tmp_path / "rollout.log"
    place = await boxed({"STYLE": "terse", "KEY": "declared-secret"}, secrets=["declared-secret"], log_file=log_file)
    job = working("""
print(os.environ["KEY"])
said.append(json.dumps(dict(os.environ)))
for place in glob.glob("/proc/[0-9]*"):
    for name in ("environ", "cmdline"):
        said.append(attempt(read, f"{place}/{name}"))
""")
    mine, *others = said(await play(place, job))
    assert json.loads(mine)["STYLE"] == "terse"
    assert "canary" not in mine
    assert not [words for words in others if "canary" in words]
    assert "declared-secret" not in log_file.read_text()


async def test_declared_variables_give_no_rights_outside(
    boxed: Opened, working: Working, rollout: Path, tmp_path: Path
) -> None:
    """Programs outside of the sandbox start it; what the author declares must not make them run his files."""
    mark = tmp_path / "mark"
    for name in ("env", "sh", "bwrap", "setpriv", "prlimit", "choom"):
        program = rollout / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\necho {name} >> {mark}\nexec /usr/bin/{name} "$@"\n')
        program.chmod(0o755)
    (rollout / "sitecustomize.py").write_text(f"open({str(mark)!r}, 'a')")
    place = await boxed(
        {"PATH": f"{rollout / 'bin'}:/usr/bin:/bin", "PYTHONPATH": str(rollout), "LD_PRELOAD": "/no.so"}
    )
    said_of = said(await play(place, working('said.append(os.environ["PATH"])')))
    assert str(rollout / "bin") in said_of[0]
    assert not mark.exists()


async def test_its_files_and_its_packages_cannot_be_changed(boxed: Opened, working: Working, rollout: Path) -> None:
    (rollout / "notes.txt").write_text("unchanged")
    job = working(f"""
said.append(attempt(write, "notes.txt"))
said.append(attempt(write, "new.txt"))
said.append(attempt(os.chmod, "notes.txt", 0o777))
said.append(attempt(os.remove, "main.py"))
for folder in [sys.prefix, os.path.dirname(json.__file__), "/usr", "/etc", "/", {str(rollout.parent)!r}]:
    said.append(attempt(write, folder + "/mark"))
""")
    found = said(await play(await boxed(), job))
    assert [words.partition(":")[0] for words in found] == ["no"] * 10, found
    assert (rollout / "notes.txt").read_text() == "unchanged"


async def test_artifacts_come_out_without_links_and_pipes(boxed: Opened, working: Working, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("of another row")
    job = replace(
        working(f"""
folder = ctx.artifacts_dir
(folder / "deep" / "er").mkdir(parents=True)
(folder / "deep" / "er" / "plan.txt").write_text("the plan")
(folder / "link.txt").symlink_to({str(secret)!r})
(folder / "up").symlink_to("../../../..")
os.mkfifo(folder / "pipe")
os.truncate(os.open(folder / "hollow", os.O_CREAT | os.O_WRONLY), 200_000_000)
(folder / "closed.txt").write_text("closed")
os.chmod(folder / "closed.txt", 0)
said.append(str(folder))
"""),
        artifacts=tmp_path / "kept" / "row",
    )
    lines: list[str] = []
    place = await boxed()
    (folder,) = said(await play(place, job, lambda _, line: lines.append(line)))
    kept = sorted(str(path.relative_to(job.artifacts)) for path in job.artifacts.rglob("*") if not path.is_dir())
    assert [name for name in kept if name != "closed.txt"] == ["deep/er/plan.txt"]
    assert (job.artifacts / "deep" / "er" / "plan.txt").read_text() == "the plan"
    assert not [path for path in job.artifacts.rglob("*") if path.is_symlink()]
    told = " ".join(lines)
    assert all(f"the artifact '{name}' is not kept" in told for name in ("link.txt", "up", "pipe", "hollow"))
    # What is kept is no longer in the sandbox, where later rows could read it.
    assert said(await play(place, working(f"said.append(attempt(os.listdir, {folder!r}))"))) == [
        "no: FileNotFoundError"
    ]


async def test_a_home_that_became_a_link_leads_nowhere(boxed: Opened, working: Working, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / ".osmosis").mkdir(parents=True)
    job = working(f"""
import shutil
name = ctx.artifacts_dir.parent.name
shutil.rmtree(os.environ["HOME"])
os.symlink({str(outside)!r}, os.environ["HOME"])
rows = ctx.artifacts_dir.parent.parent
rows.rename(rows.with_name("moved"))
os.symlink({str(outside)!r}, rows)
said.append(name)
""")
    place = await boxed()
    (name,) = said(await play(place, job))
    number = int(name.rpartition("-")[2])
    for root in (outside, outside / ".osmosis"):
        target = root / f"{name.rpartition('-')[0]}-{number + 1}" / "artifacts"
        target.mkdir(parents=True)
        (target / "others.txt").write_text("not yours")
    after = working("pass")
    await play(place, after)
    assert not after.artifacts.exists()
    assert len(list(outside.rglob("others.txt"))) == 2


async def test_a_report_of_blocking_rows_is_not_trusted(boxed: Opened, working: Working, tmp_path: Path) -> None:
    place = await boxed()
    for line in (
        "os.mkfifo(path)",
        'os.symlink("/dev/zero", path)',
        'open(path, "w").write("[" * 1_000_000)',
        """open(path, "w").write('{"now": {"seconds": "many", "name": [], "where": 7}, "total": 3}')""",
        """open(path, "w").write('{"total": {"a": null}}')""",
    ):
        job = working(f"""
path = os.path.dirname(os.environ["HOME"]) + "/watch.json"
if os.path.lexists(path):
    os.remove(path)
{line}
await asyncio.sleep(0.6)
""")
        ended, beside = await asyncio.gather(play(place, job), play(place, working("await asyncio.sleep(0.6)")))
        assert ended.graded, ended.failure
        assert beside.graded, beside.failure


async def test_processes_of_others_are_not_seen_or_ended(boxed: Opened, working: Working) -> None:
    job = working(f"""
for pid in ({os.getpid()}, {os.getppid()}):
    said.append(attempt(os.kill, pid, 0))
said.append(str(len(glob.glob("/proc/[0-9]*"))))
""")
    *kills, count = said(await play(await boxed(), job))
    assert kills == ["no: ProcessLookupError"] * 2
    assert int(count) < 8


async def test_children_that_are_left_behind_end_with_the_process(boxed: Opened, working: Working) -> None:
    # The fixture sees that nothing is left after the last process ended.
    job = working("""
for _ in range(3):
    subprocess.Popen(["sleep", "600"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
""")
    assert (await play(await boxed(), job)).graded


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("held = [b'x' * 50_000_000 for _ in range(40)]", "of memory"),
        ("while True:\n    threading.Thread(target=time.sleep, args=(600,)).start()", ""),
        ("while True:\n    try:\n        os.fork()\n    except OSError:\n        pass", "processes"),
        ("while True:\n    os.write(1, b'x' * 65536)", "of output at once"),
        (
            "while True:\n    open(os.path.expanduser('~/') + str(time.time()), 'wb').write(b'x' * 5_000_000)",
            "to disk",
        ),
        ("os.kill(os.getpid(), signal.SIGKILL)", "was killed by signal 9"),
        ("os._exit(3)", "ended with exit code 3"),
    ],
)
async def test_who_takes_too_much_loses_its_process_and_no_other_row_suffers(
    boxed: Opened, working: Working, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    # On a busy machine a program prints no faster than it may.
    monkeypatch.setattr(sandbox_module, "Flood", partial(Flood, burst=4 * MIB, rate=0))
    limits = ProgramLimits(processes=64, file_bytes=32 * MIB, open_files=4096, scratch_bytes=8 * MIB)
    place = await boxed(sandbox=WorkerSandbox(allowance=limits, most_memory=512 * MIB, most_disk=64 * MIB), workers=1)
    # Without a time limit, which a busy machine could reach before the script reaches its own.
    job = working(script, workflow_seconds=None)
    playing = asyncio.gather(play(place, job), return_exceptions=True)
    good = await asyncio.gather(
        *(play(place, working(f"await asyncio.sleep(0.3)\nsaid.append('{number}')")) for number in range(3))
    )
    (ended,) = await playing
    shown = str(ended) if isinstance(ended, BaseException) else failure(ended)
    assert words in shown, shown
    assert [said(one) for one in good] == [["0"], ["1"], ["2"]]


async def test_a_row_that_blocks_ends_within_its_time_and_a_second(boxed: Opened, working: Working) -> None:
    place = await boxed()
    loop = asyncio.get_running_loop()
    began = loop.time()
    ended = await play(place, replace(working("time.sleep(60)"), workflow_seconds=1.0))
    assert loop.time() - began < 2.5
    assert "blocked its event loop" in failure(ended)
    assert said(await play(place, working("said.append('next')"))) == ["next"]


async def test_a_frame_without_an_end_is_not_kept_in_our_memory(boxed: Opened, working: Working) -> None:
    place = await boxed()
    ended = await asyncio.gather(
        play(
            place,
            working("""
end = socket.socket(fileno=os.dup(64))
end.setblocking(True)
end.sendall((2**32 - 1).to_bytes(4, "big") + b"C")
while True:
    end.sendall(b"x" * 1_000_000)
"""),
        ),
        return_exceptions=True,
    )
    assert "a message of more than" in str(ended[0]), ended
    assert said(await play(place, working("said.append('next')"))) == ["next"]


async def test_a_server_that_speaks_http_is_played_in_the_sandbox(
    boxed: Opened, working: Working, rollout: Path
) -> None:
    (rollout / "main.py").write_bytes(Path(__file__).with_name("protocol_server.py").read_bytes())
    for environment in ({}, {"POLLED": "end"}):
        place = await boxed(environment)
        ended = await play(place, working("fine"))
        assert ended.graded
        assert ended.sample is not None
        assert ended.sample.messages[-1]["content"] == "said fine"


async def test_a_model_elsewhere_is_refused(boxed: Opened, working: Working) -> None:
    place = await boxed()
    job = replace(working("pass"), model=ModelAccess("https://models.invalid/v1", "key", "m"))
    with pytest.raises(EpisodeError, match="only through the proxy") as caught:
        await play(place, job)
    assert caught.value.cause is Cause.SANDBOX_FAILED


async def test_nothing_is_installed_outside_of_the_sandbox(boxed: Opened, rollout: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    for name in ("uv", "python3", "python3.12"):
        program = rollout / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho {name} >> {mark}\n")
        program.chmod(0o755)
    (rollout / "pyproject.toml").write_text(
        '[project]\nname = "r"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["./evil"]\n'
    )
    with pytest.raises(MesocosmError, match="nothing is installed for a rollout in a sandbox"):
        await boxed({"PATH": f"{rollout / 'bin'}:/usr/bin:/bin"})
    assert not mark.exists()
