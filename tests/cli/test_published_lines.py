"""Command lines that published pages print: each is accepted as it stands there, with the defaults that they name."""

import runpy
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import click
import pytest

from mesocosm.cli.main import program

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Played

ROOT = Path(__file__).parents[2]
TELLING = ("-V", "--version", "--help", "run", "run --help")
MESOCOSM = """
run create --domain YOUR_DOMAIN_ID --vow-version 1.0.0 --model gemini/gemini-3.1-flash-lite --episodes 5 --parallel 2
run create --domain DOMAIN_ID --vow-version 1.0.0 --model gemini/gemini-3.1-flash-lite --episodes 10
run create --domain D --vow-version 1.0.0 --model openai/m --system-prompt P --temperature 0.0 --max-tokens 512
run create --domain D --vow-version 1.0.0 --model M/N --team T --visibility private --env-id E --bench-url http://h
run create --domain D --vow-version 1.0.0 --model M/N --solo --visibility gallery_public
run get RUN_ID
run get RUN_ID --base-url http://127.0.0.1:8010
run episodes RUN_ID
run episodes RUN_ID --traces
run episodes RUN_ID --traces --base-url http://127.0.0.1:8010
run export RUN_ID -o showcase/my-replay.json
run export RUN_ID -o showcase/replay.json
run export RUN_ID --output replay.json --bench-url http://127.0.0.1:8010
run local
run local --episodes 10
run local --manifest benchanything.json --domain-id D --model ollama/llama3.2 --env-url http://localhost:8765
run local --episodes 5 --seeds 1 2 3 --system-prompt P --temperature 0.0 --max-tokens 512 --parallel 1 --quiet
run local --bench-url http://127.0.0.1:8010
eval test --domain-id YOUR_DOMAIN_ID --model openai/gpt-4o-mini --seed 42
eval test --domain-id D --vow-version 1.0.0 --model M/N --env-url http://h --seed 1 --temperature 0.0 --max-tokens 4096
eval test --domain-id D --model M/N --base-url http://127.0.0.1:8010
eval run --domain-id YOUR_DOMAIN_ID --model openai/gpt-4o-mini --num-episodes 3 --seed-set '[1,2,3]'
eval run --domain-id D --vow-version 1.0.0 --model M/N --temperature 0.0 --max-tokens 4096 --max-parallel 1
eval run --domain-id D --model M/N --require-published
eval run --domain-id D --model M/N --allow-draft --base-url http://127.0.0.1:8010
auth login
auth login --server-url http://127.0.0.1:8000
auth login --bench-url http://127.0.0.1:8010
auth --bench-url http://127.0.0.1:8010 token
auth token
auth guest
auth guest --bench-url http://127.0.0.1:8010
auth whoami
auth whoami --bench-url http://127.0.0.1:8010
auth logout
team create --name N
team create --name N --use
team --bench-url http://127.0.0.1:8010 create --name N
team join CODE
team list
team show TEAM_ID
team use TEAM_ID
team clear
team runs TEAM_ID
team code show TEAM_ID
team code regenerate TEAM_ID
team members remove TEAM_ID --user-id 7
team transfer TEAM_ID --user-id 7
team leave TEAM_ID
team delete TEAM_ID
env submit --name "My env" --github-url https://github.com/you/repo
env submit --name N --github-url https://github.com/you/repo --description D --team T --bench-url http://h
env submit --name N --github-url https://github.com/you/repo --solo
env list
env list --team T
env list --solo
env delete ENV_ID
register {place}/domain.py
register {place}/domain.py --auto-id --publish --bench-url http://127.0.0.1:8010
init
init --dir my-env --force
init --bench-url http://127.0.0.1:8010
doctor
doctor --base-url http://127.0.0.1:8010
doctor --local
validate benchanything.json
validate -
validate benchanything.json --base-url http://127.0.0.1:8010
eval submit configs/eval/my-rollout.toml
eval submit configs/eval/my-rollout.toml --yes
eval list
eval list --all
eval info my-eval-run
eval stop my-eval-run
eval stop my-eval-run --yes
"""
ORCHESTRATOR = """
list-benchmarks
run --benchmarks solana --provider groq --model qwen/qwen3-32b
run --all --provider groq --model qwen/qwen3-32b
run --all --rerun-failed --provider groq --model qwen/qwen3-32b
run --all --force --provider groq --model qwen/qwen3-32b
run --benchmarks osworld --provider groq --model qwen/qwen3-32b --rerun-failed \
 --extra '{"max_tasks":1,"headless":true,"vm_ready_timeout_seconds":21600}'
run --all --agent eliza --provider groq --model qwen/qwen3-32b --extra '{"per_benchmark":{}}'
run --benchmarks swe_bench_orchestrated --provider anthropic --model claude-sonnet-4-6 --extra '{"per_benchmark":\
{"swe_bench_orchestrated":{"matrix":true,"max_instances":3,"no_docker":true,"strict_capabilities":true}}}'
run --benchmarks gaia_orchestrated --provider groq --model qwen/qwen3-32b --extra '{"per_benchmark":\
{"gaia_orchestrated":{"matrix":true,"dataset":"sample","max_questions":10,"strict_capabilities":true}}}'
run --benchmarks orchestrator_lifecycle --provider openai --model gpt-4o --extra '{"per_benchmark":\
{"orchestrator_lifecycle":{"max_scenarios":12,"strict":true}}}'
run --benchmarks eliza_replay --provider openai --model gpt-4o-mini --extra '{"per_benchmark":\
{"eliza_replay":{"capture_path":"/path/to/replays","capture_glob":"*.replay.json"}}}'
serve-viewer --host 127.0.0.1 --port 8877
export-viewer-data
recover-stale-runs --stale-seconds 0
recover-stale-runs
show-runs --desc --limit 200
compare --a "vllm:elizaos/eliza-1-2b@http://127.0.0.1:8001/v1" --b "vllm:Qwen/Qwen3.5-2B@http://127.0.0.1:8002/v1" \
 --benchmarks eliza-format,bfcl,realm,context-bench
compare --a groq:m --b groq:n --benchmarks bfcl --max-examples 5 --temperature 0.0 --out comparisons
view-comparison cmp_20260504T120000Z_a1b2c3d4
"""
DEFAULTS: dict[str, dict[str, Any]] = {
    "init": {"directory": None, "force": False},
    "run local": {"model": "ollama/llama3.2", "temperature": 0.0, "max_tokens": 512, "parallel": 1, "seeds": None},
    "run create --domain D --vow-version 1.0.0 --model M/N": {"parallel": 1, "temperature": 0.0, "max_tokens": 512},
    "eval test --domain-id D --model M/N": {"temperature": 0.0, "max_tokens": 4096},
    "eval run --domain-id D --model M/N": {
        "temperature": 0.0,
        "max_tokens": 4096,
        "max_parallel": 1,
        "require_published": True,
    },
    "env submit --name N --github-url U": {"description": ""},
    "bench recover-stale-runs": {"stale_seconds": 300.0},
    "bench compare --a groq:m --b groq:n --benchmarks bfcl": {"temperature": 0.0},
    "bench serve-viewer": {"host": "127.0.0.1", "port": 8877},
}


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


def parsed(line: str) -> click.Context:
    """Parse a command line to its end as the program does, without running it."""
    context = program.make_context("mesocosm", shlex.split(line))
    while isinstance(context.command, click.Group):
        words = [*context._protected_args, *context.args]
        if not words:
            break
        name, command, rest = context.command.resolve_command(context, words)
        assert command is not None
        context = command.make_context(name, rest, parent=context)
    return context


@pytest.mark.parametrize("line", lines(MESOCOSM))
def test_a_line_of_the_program_is_accepted(here: Path, line: str) -> None:
    (here / "domain.py").touch()

    assert parsed(line.format(place=here)).command.callback is not None


@pytest.mark.parametrize("line", TELLING)
def test_a_line_that_only_tells_something_does(mesocosm: "Invoke", here: Path, line: str) -> None:
    told = mesocosm(*line.split())

    assert (told.code, bool(told.out)) == (0, True)


@pytest.mark.parametrize("line", lines(ORCHESTRATOR))
def test_a_line_of_the_orchestrator_is_accepted(line: str) -> None:
    context = parsed(f"bench {line}")

    assert context.command.name == line.split(maxsplit=1)[0]


@pytest.mark.parametrize("line", DEFAULTS)
def test_what_a_line_leaves_out_has_the_published_default(line: str) -> None:
    given = parsed(line).params

    assert {name: given[name] for name in DEFAULTS[line]} == DEFAULTS[line]


@pytest.mark.parametrize(
    "line", ["list-benchmarks", "show-runs --desc --limit 200", "export-viewer-data", "recover-stale-runs"]
)
def test_the_orchestrator_is_a_module_of_the_checkout(
    mine: "Played", monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("MESOCOSM_RESULTS_DIR", str(mine.results))
    with patch.object(sys, "argv", ["orchestrator", *line.split()]), pytest.raises(SystemExit) as ended:
        runpy.run_module("benchmarks.orchestrator", run_name="__main__", alter_sys=True)

    assert (ended.value.code, bool(capsys.readouterr().out)) == (0, True)
