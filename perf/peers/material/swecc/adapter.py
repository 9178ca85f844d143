"""The work as an environment, by the SDK that both runners have: a question, and whether the answer is its number."""

import argparse
import json
from pathlib import Path

from bench_common.env_sdk import BaseEnv, StepResult, serve

ROWS = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]


class Sums(BaseEnv):
    """The question that the seed names."""

    def reset(self, seed=None, **params):
        """Ask."""
        self.row = ROWS[seed or 0]
        return self.row["question"]

    def step(self, action):
        """Compare."""
        right = str(action).strip() == self.row["answer"]
        return StepResult("", float(right), True, False, {"right": right})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8765)
    serve(Sums, host="127.0.0.1", port=parser.parse_args().port)
