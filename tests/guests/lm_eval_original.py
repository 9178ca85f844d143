"""What lm-evaluation-harness itself makes of recorded answers: runs in its interpreter, prints one JSON document.

`lm_eval_original.py FOLDER RECORDED TASK…`: the file RECORDED holds `{"answers": {TASK: {DOC_ID: [[answer, …], …]}},
"chat": bool, "arguments": {…}}`; each list of a document has the answers of a request, one for each repeat.
"""

import json
import math
import random
import sys
from pathlib import Path
from typing import Any

import numpy
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager


class Recorded(LM):  # type: ignore[misc]
    """Returns recorded answers, and keeps what was asked."""

    tokenizer_name = ""

    def __init__(self, answers: dict[str, Any]) -> None:
        super().__init__()
        self._answers = answers
        self._given: dict[Any, int] = {}
        self.asked: dict[str, Any] = {}

    def _answer(self, instance: Any) -> Any:
        key = (instance.task_name, instance.doc_id, instance.idx)
        self.asked["/".join(map(str, key))] = list(instance.args)
        repeat = self._given[key] = self._given.get(key, -1) + 1
        return self._answers[instance.task_name][str(instance.doc_id)][instance.idx][repeat]

    def generate_until(self, requests: Any, **_: Any) -> list[Any]:
        return [self._answer(one) for one in requests]

    def loglikelihood(self, requests: Any, **_: Any) -> list[Any]:
        return [tuple(self._answer(one)) for one in requests]

    def loglikelihood_rolling(self, requests: Any, **_: Any) -> list[Any]:
        return [self._answer(one) for one in requests]

    def apply_chat_template(self, chat_history: Any, add_generation_prompt: bool = True) -> str:
        del add_generation_prompt
        return json.dumps(chat_history, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Return what JSON can hold."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def main(folder: str, recorded: str, *names: str) -> None:
    """Print `{"samples": {TASK: {DOC_ID: {FILTER: {METRIC: value}}}}, "results": …, "groups": …, "asked": …}`."""
    given = json.loads(Path(recorded).read_bytes())
    random.seed(0)
    numpy.random.seed(1234)
    model = Recorded(given["answers"])
    found: Any = simple_evaluate(
        model=model,
        tasks=list(names),
        task_manager=TaskManager(include_path=folder, include_defaults=False),
        bootstrap_iters=0,
        apply_chat_template=given.get("chat", False),
        **given.get("arguments", {}),
    )
    samples: dict[str, Any] = {}
    for task, rows in found["samples"].items():
        for row in rows:
            values = {name: row[name] for name in row["metrics"]}
            samples.setdefault(task, {}).setdefault(str(row["doc_id"]), {})[row["filter"]] = values
    print(json.dumps(plain({"samples": samples, "results": found["results"], "asked": model.asked})))


if __name__ == "__main__":
    main(*sys.argv[1:])
