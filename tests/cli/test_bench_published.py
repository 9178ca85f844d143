"""The commands of the older tool's published page, as they stand there but for the name of the program.

Its servers are one on loopback that speaks every protocol: base URLs in the environment lead there, and the ports of
the page's own URLs are replaced.
"""

import asyncio
import json
import os
import re
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    from tests.cli.conftest import Outcome
    from tests.forked import ForkServer

ROOT = Path(__file__).parents[2]
SUMMARY = re.compile(r"Summary: succeeded=(\d+) failed=(\d+) skipped=(\d+) incompatible=(\d+)")
PATIENCE = 240.0

Shell = Callable[..., Coroutine[Any, Any, "Outcome"]]


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    """Return a model that knows nothing."""
    async with ModelServer("I do not know.") as server:
        yield server


@pytest.fixture
def shell(
    server: ModelServer, tmp_path: Path, outcome: Callable[..., "Outcome"], fork_server: "ForkServer | None"
) -> Shell:
    """Return what runs a command line in an empty directory beside the profiles."""
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    names = ("GROQ", "OPENAI", "VLLM", "CEREBRAS")
    urls = {f"{name}_BASE_URL": server.openai_url for name in names} | {"ANTHROPIC_BASE_URL": server.url}
    keys = {f"{name}_API_KEY": "a-key-of-no-worth" for name in (*names, "ANTHROPIC")}
    kept |= {name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "LC_"))}
    offline = {"HF_HUB_OFFLINE": "1"}
    python = str(fork_server.scripts / "python") if fork_server else sys.executable

    async def run(command: str) -> "Outcome":
        line = command.replace("python -m mesocosm.bench", f"{python} -m mesocosm.bench")
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", line, cwd=tmp_path, env={**kept, **urls, **keys, **offline}, stdout=PIPE, stderr=PIPE
        )
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
        assert process.returncode is not None
        return outcome(process.returncode, out.decode(), err.decode())

    return run


@pytest.fixture
def outcome() -> Callable[..., "Outcome"]:
    """Return what makes an outcome."""
    from dataclasses import make_dataclass

    made: Callable[..., Outcome] = make_dataclass("Outcome", ["code", "out", "err"])
    return made


def summary(done: "Outcome") -> tuple[int, ...]:
    found = SUMMARY.search(done.out)
    assert found, done.out + done.err
    return tuple(map(int, found.groups()))


async def test_the_catalogue_is_covered(shell: Shell) -> None:
    done = await shell("python -m mesocosm.bench list-benchmarks")
    assert done.code == 0, done.out
    for name in ("solana", "osworld", "bfcl", "realm", "context-bench", "eliza-format", "eliza_replay"):
        assert re.search(rf"^{name} ", done.out, re.MULTILINE), name


ONE = """python -m mesocosm.bench run \\
--benchmarks solana \\
--provider groq \\
--model qwen/qwen3-32b"""
OSWORLD = """python -m mesocosm.bench run \\
--benchmarks osworld \\
--provider groq \\
--model qwen/qwen3-32b \\
--rerun-failed \\
--extra '{"max_tasks":1,"headless":true,"vm_ready_timeout_seconds":21600}'"""


@pytest.mark.parametrize("command", [ONE, OSWORLD])
async def test_what_is_named_and_this_machine_lacks_is_told_and_exits_1(shell: Shell, command: str) -> None:
    done = await shell(command)
    assert done.code == 1, done.out + done.err
    assert sum(summary(done)) == 1
    assert summary(done)[1] == 0


CODE = """python -m mesocosm.bench run \\
--benchmarks swe_bench_orchestrated \\
--provider anthropic \\
--model claude-sonnet-4-6 \\
--extra '{"per_benchmark":{"swe_bench_orchestrated":\
{"matrix":true,"max_instances":3,"no_docker":true,"strict_capabilities":true}}}'"""
RESEARCH = """python -m mesocosm.bench run \\
--benchmarks gaia_orchestrated \\
--provider groq \\
--model qwen/qwen3-32b \\
--extra '{"per_benchmark":{"gaia_orchestrated":\
{"matrix":true,"dataset":"sample","max_questions":10,"strict_capabilities":true}}}'"""
LIFECYCLE = """python -m mesocosm.bench run \\
--benchmarks orchestrator_lifecycle \\
--provider openai \\
--model gpt-4o \\
--extra '{"per_benchmark":{"orchestrator_lifecycle":{"max_scenarios":12,"strict":true}}}'"""


@pytest.mark.parametrize("command", [RESEARCH, LIFECYCLE])
async def test_a_suite_is_run_once_and_then_skipped(shell: Shell, server: ModelServer, command: str) -> None:
    first = await shell(command)
    assert (first.code, summary(first)) == (0, (1, 0, 0, 0)), first.out + first.err
    asked = server.served
    assert asked > 10
    second = await shell(command)
    assert summary(second) == (0, 0, 1, 0)
    assert "Nothing was run" in second.out
    assert server.served == asked


async def test_the_matrix_of_code_agents_runs_with_another_protocol(shell: Shell, server: ModelServer) -> None:
    done = await shell(CODE)
    assert done.code == 0, done.out + done.err
    assert sum(summary(done)) == 1


async def test_captures_that_are_not_there_are_one_failed_row(shell: Shell) -> None:
    done = await shell("""python -m mesocosm.bench run \\
--benchmarks eliza_replay \\
--provider openai \\
--model gpt-4o-mini \\
--extra '{"per_benchmark":{"eliza_replay":{"capture_path":"/path/to/replays","capture_glob":"*.replay.json"}}}'""")
    assert (done.code, summary(done)) == (1, (0, 1, 0, 0))
    assert "/path/to/replays" in done.out


async def test_the_profile_samples_every_benchmark_and_nothing_runs_twice(shell: Shell, server: ModelServer) -> None:
    command = """python -m mesocosm.bench run \\
--all \\
--agent eliza \\
--provider groq \\
--model qwen/qwen3-32b \\
--extra "$(cat benchmarks/orchestrator/profiles/sample10.json)\""""
    first = await shell(command)
    succeeded, failed, skipped, _ = summary(first)
    assert (failed, skipped) == (0, 0), first.out + first.err
    assert succeeded >= 6
    asked = server.served
    second = await shell(command)
    assert summary(second)[:3] == (0, 0, succeeded)
    assert server.served == asked
    again = await shell("python -m mesocosm.bench run --all --rerun-failed --provider groq --model qwen/qwen3-32b")
    assert summary(again)[0] == 0
    listed = await shell("python -m mesocosm.bench show-runs --desc --limit 200")
    assert len(re.findall(r"benchmark=\S+ run_id=\S+ agent=eliza provider=groq model=qwen/qwen3-32b", listed.out)) >= 6
    for words in ("recover-stale-runs --stale-seconds 0", "recover-stale-runs", "export-viewer-data"):
        done = await shell(f"python -m mesocosm.bench {words}")
        assert done.code == 0, done.err
        assert "viewer_data.json" in done.out


async def test_two_models_are_compared_and_the_comparison_is_kept(
    shell: Shell, server: ModelServer, tmp_path: Path
) -> None:
    command = """python -m mesocosm.bench compare \\
--a "vllm:elizaos/eliza-1-2b@http://127.0.0.1:8001/v1" \\
--b "vllm:Qwen/Qwen3.5-2B@http://127.0.0.1:8002/v1" \\
--benchmarks eliza-format,bfcl,realm,context-bench"""
    # The page's ports may belong to somebody else here.
    command = re.sub(r"http://127.0.0.1:800[12]/v1", server.openai_url, command)
    done = await shell(f"{command} --max-examples 12")
    # What was named and cannot run: bfcl, where its data are not at hand.
    assert done.code == int("bfcl: incompatible" in done.out), done.out + done.err
    lines = done.out.splitlines()
    assert lines[1] == f"A: vllm:elizaos/eliza-1-2b @ {server.openai_url}"
    assert lines[3] == "Benchmarks: eliza-format, bfcl, realm, context-bench"
    (path,) = (tmp_path / "benchmark_results" / "comparisons").iterdir()
    document = json.loads(path.read_text())
    assert [row["benchmark_id"] for row in document["rows"]] == ["eliza-format", "bfcl", "realm", "context-bench"]
    assert {row["winner"] for row in document["rows"]} <= {"tie", None}
    again = await shell(f"python -m mesocosm.bench view-comparison {document['comparison_id']}")
    assert again.code == 0
    assert again.out.splitlines()[0] == lines[0]
