"""Runs of each kind, played by command lines into a results directory of their own."""

from pathlib import Path

from tests.cli.conftest import invoke

from mesocosm.store import open_store
from mesocosm.store.revision import DATABASE_NAME

IN_PROCESS = 'advanced.isolation="in-process"'


def command(results: Path, *words: str | Path) -> str:
    """Run a command line with a results directory, and return what it prints."""
    done = invoke(*words, "--results-dir", results)
    assert done.code == 0, done.err
    return done.out


def play_environment(results: Path) -> list[str]:
    """Play an environment of several steps with two agents; return the ids of the runs, oldest first."""
    command(results, "demo", "--episodes", "4", "--quiet", "--no-view")
    return ids(results)


def play_rollout(results: Path, workspace: Path) -> list[str]:
    """Evaluate the rollout of `eval init`; return the ids of all runs."""
    if not workspace.exists():
        command(results, "eval", "init", "arith", "--dir", workspace)
    command(results, "eval", "run-local", workspace / "configs" / "eval" / "arith.toml", "--set", IN_PROCESS)
    return ids(results)


def play_benchmark(results: Path) -> list[str]:
    """Run a built-in benchmark whose tasks are generated; return the ids of all runs."""
    words = ("--benchmarks", "eliza-format", "--provider", "builtin", "--model", "oracle", "--max-examples", "3")
    command(results, "bench", "run", *words)
    return ids(results)


def ids(results: Path) -> list[str]:
    """Return the ids of the runs in a results directory, oldest first."""
    store = open_store(results / DATABASE_NAME)
    try:
        return sorted(store.runs.ids())
    finally:
        store.close()


def play_half_of_a_rollout(results: Path, workspace: Path) -> str:
    """Interrupt an evaluation in its fourth row; return the id of the run, which `run resume` ends."""
    command(results, "eval", "init", "halves", "--dir", workspace)
    main = workspace / "rollouts" / "halves" / "main.py"
    (workspace / "stop").touch()
    stop = f"""
        from pathlib import Path
        from signal import SIGINT, raise_signal
        stop = Path({str(workspace / "stop")!r})
        if "anthology" in str(ctx.prompt) and stop.exists():
            stop.unlink()
            raise_signal(SIGINT)
"""
    main.write_text(
        main.read_text().replace(
            "        messages = list(ctx.prompt)\n", stop + "        messages = list(ctx.prompt)\n"
        )
    )
    config = workspace / "configs" / "eval" / "halves.toml"
    words = ("--set", IN_PROCESS, "--set", "evaluation.batch_size=1")
    done = invoke("eval", "run-local", config, *words, "--results-dir", results)
    assert done.code == 130, done.err
    return ids(results)[-1]


def play_large_rollout(results: Path, workspace: Path) -> str:
    """Evaluate a rollout whose answers are long and hard to compress; return the id of the run."""
    command(results, "eval", "init", "large", "--dir", workspace)
    main = workspace / "rollouts" / "large" / "main.py"
    answer = 'answer = {"role": "assistant", "content": os.urandom(250_000).hex() + " 27"}'
    main.write_text(main.read_text().replace("answer = await complete(messages)", answer))
    config = workspace / "configs" / "eval" / "large.toml"
    command(results, "eval", "run-local", config, "--set", IN_PROCESS, "--set", "evaluation.n=5")
    return ids(results)[-1]
