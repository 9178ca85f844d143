"""Runs the published rollouts with the real package and with real frameworks. Needs a package index; not a test.

    python -m tests.rollouts.try_published [NAME…] [--here | --shim | --package VERSION] [--keep DIRECTORY]

Each rollout runs as its pyproject.toml says: in a virtual environment of its own that is kept below `--keep`, with the
osmosis-ai package where Python >= 3.12 is found. `--package` asks for one version of it. With `--shim`, it is taken out
of what is declared, so that the stand-in serves in an environment with the real frameworks. With `--here`, rollouts run
in the environment that runs this, with whatever is installed in it. Prints how the rows differ from those expected.
"""

import argparse
import asyncio
import os
import shutil
import sys
import tomllib
from pathlib import Path

from tests.rollouts import puppet
from tests.rollouts.published_rollout import PUBLISHED, Workspace, differences, expected, names

from mesocosm.testing.model_server import ModelServer

FRAMEWORKS = {"openai-agents": "openai-agents[litellm]>=0.18.1,<0.19", "strands": "strands-agents[openai]"}
SERVER = ["pydantic>=2.10", "fastapi>=0.115", "uvicorn>=0.34"]


def dependencies(name: str, *, here: bool, shim: bool, package: str) -> list[str]:
    """Return what a rollout declares, with another version of osmosis-ai or without it."""
    if here:
        return []
    declared = tomllib.loads((PUBLISHED / name / "pyproject.toml").read_text())["project"]["dependencies"]
    kept = [line for line in declared if not line.startswith("osmosis-ai")]
    [line] = [line for line in declared if line.startswith("osmosis-ai")]
    extras = line.partition("[")[2].partition("]")[0].split(",")
    if shim:
        return [*kept, *(FRAMEWORKS[extra] for extra in extras if extra in FRAMEWORKS), *SERVER]
    return [*kept, f"osmosis-ai[{','.join({*extras, 'server'} - {''})}]=={package}"] if package else declared


async def attempt(name: str, keep: Path, *, here: bool, shim: bool, package: str) -> list[str]:
    """Run one rollout and return how it differs."""
    root = keep / f"{name}-{'shim' if shim else package or 'declared'}"
    for folder in ("rollouts", "configs", "data", "results", "out"):
        shutil.rmtree(root / folder, ignore_errors=True)
    wanted = dependencies(name, here=here, shim=shim, package=package)
    workspace = Workspace.of(root, name, dependencies=wanted, python=">=3.11" if here else ">=3.12")
    environment = {**os.environ, "OPENAI_API_KEY": "of the model", "JUDGE_API_KEY": "of the judge"}
    async with ModelServer(puppet.answer) as model:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "mesocosm", *workspace.words(model.openai_url)),
            cwd=root,
            env=environment,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        _, said = await process.communicate()
    if process.returncode not in {0, 1}:
        return [f"exit code {process.returncode}", said.decode()]
    found = differences(workspace.rows(), expected(name))
    return [*found, said.decode()] if found else []


async def main() -> None:
    """Try what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=names())
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--here", action="store_true")
    how.add_argument("--shim", action="store_true")
    how.add_argument("--package", default="")
    parser.add_argument("--keep", type=Path, default=Path(".mesocosm/published"))
    given = parser.parse_args()
    for name in given.names:
        found = await attempt(name, given.keep.resolve(), here=given.here, shim=given.shim, package=given.package)
        print(f"{name}: {'differs' if found else 'as expected'}", *found, sep="\n  ", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
