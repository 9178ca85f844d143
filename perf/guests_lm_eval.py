"""What an episode of an lm-evaluation-harness task costs, beside one in its own runner; see perf.guest_cost.

MESOCOSM_TEST_GUESTS=DIR python -m perf.guests_lm_eval [texts|choices]
"""

import json
import sys
import tempfile
from pathlib import Path

from perf.guest_cost import SampleCost, interpreter, model_server
from perf.machine import ROOT, machine

FEW, MANY = 100, 1100
FORMS = {
    "texts": ("generate_until", "[{metric: exact_match, aggregation: mean, higher_is_better: true}]"),
    "choices": ("multiple_choice", "[{metric: acc, aggregation: mean, higher_is_better: true}]"),
}
VARIABLES = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TQDM_DISABLE": "1",
    "OPENAI_API_KEY": "sk-perf-0123456789",
}
_TASK = """task: perf_{name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
output_type: {form}
test_split: test
doc_to_text: "Question: {{{{question}}}}\\nAnswer:"
doc_to_target: {target}
{more}metric_list: {metrics}
"""


def _write(folder: Path) -> None:
    rows = [
        {
            "question": f"What is {n} + {n + 1}?",
            "answer": str(2 * n + 1),
            "choices": ["one", "two", "three"],
            "label": n % 3,
        }
        for n in range(MANY)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, (form, metrics) in FORMS.items():
        texts = name == "texts"
        target = '"{{answer}}"' if texts else "label"
        more = 'generation_kwargs: {until: ["\\n"], max_gen_toks: 16}\n' if texts else "doc_to_choice: choices\n"
        text = _TASK.format(name=name, form=form, target=target, more=more, metrics=metrics)
        (folder / f"perf_{name}.yaml").write_text(text)


def main() -> None:
    """Print the cost of an episode of each form in both."""
    python = interpreter("lmeval")
    print(machine())
    with tempfile.TemporaryDirectory() as folder, model_server() as url:
        _write(Path(folder))
        cost = SampleCost(Path(folder), FEW, MANY, VARIABLES)
        for form in sys.argv[1:] or FORMS:
            _compare(cost, form, python, url)


def _compare(cost: SampleCost, form: str, python: str, url: str) -> None:
    def ours(count: int) -> list[str]:
        settings = ["-P", f"python={python}", "-P", "include_path=.", "-P", f"limit={count}"]
        words = ["run", f"lm-eval:perf_{form}", "-m", f"openai/m@{url}/v1", "--fresh", "--parallel", "16"]
        return [sys.executable, "-m", "mesocosm", *words, *settings]

    def theirs(count: int) -> list[str]:
        return [python, str(ROOT / "perf" / "lm_eval_runner.py"), url, str(count), form]

    cost.compare(form, ours=ours, theirs=theirs)


if __name__ == "__main__":
    main()
