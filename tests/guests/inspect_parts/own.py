"""Print the scores that Inspect's own runner gives: `own.py BASE_URL SOURCE LIMIT EPOCHS [NAME=VALUE …]`."""

import json
import os
import random
import sys
import tempfile
import time
from typing import Any


def main(base_url: str, source: str, limit: int, epochs: int, given: list[str]) -> None:
    os.environ |= {"INSPECT_DISPLAY": "none", "INSPECT_EVAL_MODEL": "mockllm/model"}
    from inspect_ai import eval as run
    from inspect_ai.model import get_model

    def model() -> Any:
        return get_model("openai-api/mesocosm/adder", base_url=base_url, api_key="key", memoize=False)

    random.seed(0)
    roles = {role: model() for role in ("grader", "judge", "user", "mark", "conartist", "negotiator")}
    with tempfile.TemporaryDirectory() as logs:
        started, before = time.perf_counter(), time.process_time()
        log = run(
            source,
            task_args={name: json.loads(value) for name, value in (one.split("=", 1) for one in given)},
            model=model(),
            model_roles=roles,
            limit=limit or None,
            epochs=epochs,
            log_dir=logs,
            fail_on_error=False,
            temperature=0.0,
            max_tokens=4096,
            max_samples=16,
            max_connections=16,
            display="none",
        )[0]
        spent = {"wall_s": time.perf_counter() - started, "cpu_s": time.process_time() - before}
        scores = {
            f"{sample.id}/{sample.epoch}": {name: score.value for name, score in (sample.scores or {}).items()}
            for sample in log.samples or ()
        }
    print(json.dumps({"scores": scores, **spent}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
