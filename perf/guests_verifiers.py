"""What an episode of a task set of verifiers costs, beside one in its own runner; see perf.guest_cost.

The harness asks in the process of the framework, so that no program of its own hides the difference.

    MESOCOSM_TEST_GUESTS=DIR python -m perf.guests_verifiers
"""

import sys
import tempfile
from pathlib import Path

from perf.guest_cost import SampleCost, interpreter, model_server
from perf.machine import ROOT, machine

FEW, MANY = 50, 550
SUMS = ROOT / "tests" / "guests" / "sources" / "sums_v1.py"
AT_ONCE = 16
_ORIGINAL = """
import asyncio, sys
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig
folder, url, count, at_once, output = sys.argv[1:]
sys.path.insert(0, folder)
config = EvalConfig.model_validate({
    "env": {"taskset": {"id": "sums-v1", "count": int(count)}, "agent": {"runtime": {"type": "subprocess"}}},
    "model": "m", "client": {"base_url": url, "api_key_var": "PERF_API_KEY"}, "max_concurrent": int(at_once),
    "rich": None, "push": False, "output_dir": output,
})
asyncio.run(run_eval(config))
"""


def main() -> None:
    """Print the cost of an episode in both."""
    python = interpreter("verifiers")
    print(machine())
    with tempfile.TemporaryDirectory() as folder, model_server() as url:

        def ours(count: int) -> list[str]:
            flags = ["--python", python, "--parallel", str(AT_ONCE), "--fresh", "-m", "openai/m"]
            return [sys.executable, "-m", "mesocosm", "bench", "run", f"verifiers:{SUMS},count={count}", *flags]

        def theirs(count: int) -> list[str]:
            output = tempfile.mkdtemp(dir=folder)
            return [python, "-c", _ORIGINAL, str(SUMS.parent), f"{url}/v1", str(count), str(AT_ONCE), output]

        key = "sk-perf-0123456789"
        variables = {"OPENAI_API_KEY": key, "PERF_API_KEY": key, "OPENAI_BASE_URL": f"{url}/v1"}
        SampleCost(Path(folder), FEW, MANY, variables).compare("sums-v1", ours=ours, theirs=theirs)


if __name__ == "__main__":
    main()
