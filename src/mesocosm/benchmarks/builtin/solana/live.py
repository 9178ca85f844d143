"""Run the gym and write its score as `result.json`.

    python -m mesocosm.benchmarks.builtin.solana.live --gym FOLDER --output FOLDER --entry FILE

A separate program. Model and settings reach the gym through environment variables. Its exit code is the gym's, or 1 if
the gym recorded nothing.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mesocosm.benchmarks.builtin.solana.log import judged
from mesocosm.benchmarks.result import ResultFileError, locate, read_document

PATTERNS = ("**/*transactions*.json", "**/*_metrics.json", "**/*metrics*.json")


def main(words: Sequence[str] | None = None) -> int:
    """Run, write the result, and return the exit code."""
    parser = argparse.ArgumentParser(description="run the Solana gym and collect its score")
    for name in ("gym", "output"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--entry", required=True)
    parser.add_argument("--python", default=sys.executable)
    arguments = parser.parse_args(words)
    recorded = arguments.output / "gym"
    recorded.mkdir()
    command = [arguments.python, arguments.entry]
    environment = {**os.environ, "OUTPUT_DIR": str(recorded)}
    code = subprocess.run(command, cwd=arguments.gym, env=environment, check=False).returncode  # noqa: S603
    return code or collect(recorded, arguments.output / "result.json")


def collect(recorded: Path, result: Path) -> int:
    """Write the score of what the gym recorded; return 1 if there is nothing to score."""
    found = locate(recorded, PATTERNS)
    if found is None:
        print(f"the gym wrote none of {', '.join(PATTERNS)} into OUTPUT_DIR", file=sys.stderr)
        return 1
    try:
        reading, further = judged(read_document(found))
    except ResultFileError as error:
        print(f"{found.name}: {error}", file=sys.stderr)
        return 1
    numbers = {"score": reading.value, **{score.name: score.value for score in further}}
    if reading.value is None:
        print(f"{found.name}: {reading.explanation}", file=sys.stderr)
    result.write_text(json.dumps({**numbers, "explanation": reading.explanation}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
