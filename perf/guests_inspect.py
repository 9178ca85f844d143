"""What a sample of an Inspect task costs, beside one in Inspect's own runner; see perf.guest_cost.

MESOCOSM_TEST_GUESTS=DIR python -m perf.guests_inspect
"""

import sys
import tempfile
from pathlib import Path

from perf.guest_cost import SampleCost, interpreter, model_server
from perf.machine import ROOT, machine

FEW, MANY = 10, 160
PARTS = ROOT / "tests" / "guests" / "inspect_parts"
SOURCE = f"{PARTS / 'tasks.py'}@sums"

_OURS = """
import sys
import mesocosm as mc
source, model, count, python = sys.argv[1:]
run = mc.evaluate(f"inspect:{source}", model=model, params={"python": python, "count": int(count), "tools": False},
    parallel=16, progress=False)
assert run.status == "finished", run.status
"""


def main() -> None:
    """Print the cost of a sample in both."""
    python = interpreter("inspect")
    print(machine())
    with tempfile.TemporaryDirectory() as folder, model_server() as url:
        model = f"openai/adder@{url}/v1"

        def ours(count: int) -> list[str]:
            return [sys.executable, "-c", _OURS, SOURCE, model, str(count), python]

        def theirs(count: int) -> list[str]:
            own = [python, str(PARTS / "own.py"), f"{url}/v1", SOURCE]
            return [*own, "0", "1", f"count={count}", "tools=false"]

        cost = SampleCost(Path(folder), FEW, MANY, {"OPENAI_API_KEY": "sk-none"})
        cost.compare("sums", ours=ours, theirs=theirs)


if __name__ == "__main__":
    main()
