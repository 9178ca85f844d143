"""A process that runs a command benchmark and is killed by a test: STORE FOLDER OUTPUT."""

import asyncio
import sys
from pathlib import Path

from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import reference
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, RunSpec
from mesocosm.engine import session
from mesocosm.store import open_store


def main(database: str, folder: str, output: str) -> None:
    """Run the benchmark in `folder`."""
    known = read_catalogue([Path(folder)]).find("toy")
    spec = RunSpec(
        reference(known, {}, Path(output)), ModelSettings("builtin/random", max_tokens=77), AgentSettings("program")
    )
    asyncio.run(session.run(spec, open_store(Path(database))))


if __name__ == "__main__":
    main(*sys.argv[1:])
