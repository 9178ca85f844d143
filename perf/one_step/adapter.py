"""The emptiest environment behind the SDK's server."""

import argparse

from bench_common.env_sdk import BaseEnv, StepResult, serve


class OneStep(BaseEnv):
    """One question, one answer, reward 1."""

    def reset(self, seed=None, **params):
        """Ask."""
        return {"question": "what follows?", "seed": seed}

    def step(self, action):
        """Accept any answer."""
        return StepResult({"answer": action}, 1.0, True, False, {"correct": True})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8765)
    serve(OneStep, host="127.0.0.1", port=parser.parse_args().port)
