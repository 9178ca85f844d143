"""Grade the form battery by the rules of other harnesses; run by `perf.forms` with an interpreter that has them.

Reads the forms as JSON and writes `rows` and what is `absent` as one line of JSON. Nothing of this project is imported.
"""

import asyncio
import importlib.metadata
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Form = dict[str, Any]
Rule = tuple[str, str, Callable[[Form], bool]]
"""The kind of forms, the name of the rule, and whether it accepts a form for its gold."""


def lm_eval() -> Iterator[Rule]:
    """The filters of lm-eval's tasks, read from the tasks' own files, with its exact match."""
    import yaml
    from lm_eval.api.metrics import exact_match_hf_evaluate
    from lm_eval.filters import extraction

    classes = {"regex": extraction.RegexFilter, "multi_choice_regex": extraction.MultiChoiceRegexFilter}
    tasks = Path(extraction.__file__).parents[1] / "tasks"
    mmlu = "mmlu/flan_cot_zeroshot/_mmlu_flan_cot_zeroshot_template_yaml"
    for kind, name, file in (
        ("numeric", "gsm8k", "gsm8k/gsm8k.yaml"),
        ("choice", "mmlu_flan_cot_zeroshot", mmlu),
        ("choice", "mmlu_pro", "mmlu_pro/_default_template_yaml"),
    ):
        text = (tasks / file).read_text().replace("!function ", "")
        task = yaml.safe_load(text)
        metric = {key: value for key, value in task["metric_list"][0].items() if key.startswith(("ignore", "regexes"))}
        for one in task["filter_list"]:
            options = dict(one["filter"][0])
            applied = classes[options.pop("function")](**options)

            def accepts(form: Form, applied: Any = applied, metric: dict[str, Any] = metric, name: str = name) -> bool:
                given = next(iter(applied.apply([[form["reply"]]], [{"choices": form["options"]}])))[0]
                # The task's own target: the letter, in brackets where the task has them.
                gold = f"({form['gold']})" if name.startswith("mmlu_flan") else form["gold"]
                return bool(exact_match_hf_evaluate(predictions=[given], references=[gold], **metric)["exact_match"])

            yield kind, f"lm-eval, `{name}`, `{one['name']}`", accepts


def inspect_ai() -> Iterator[Rule]:
    """The scorers of Inspect."""
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Target, answer, match
    from inspect_ai.solver import TaskState
    from inspect_ai.solver._multiple_choice import parse_answers

    def state(form: Form) -> Any:
        output = ModelOutput.from_content("none", form["reply"])
        options = list(form["options"]) or None
        return TaskState(model="none/none", sample_id=1, epoch=1, input="", messages=[], output=output, choices=options)

    def scored(scorer: Any) -> Callable[[Form], bool]:
        return lambda form: asyncio.run(scorer(state(form), Target(form["gold"]))).value == "C"

    yield "numeric", "Inspect, `match(numeric=True)`", scored(match(numeric=True))
    yield "numeric", 'Inspect, `answer("line")`', scored(answer("line"))
    yield "choice", "Inspect, `choice()`", lambda form: parse_answers(state(form), False) == {form["gold"]}
    yield "choice", 'Inspect, `answer("letter")`', scored(answer("letter"))
    yield "text", "Inspect, `match()`", scored(match())


def math_verify() -> Iterator[Rule]:
    """Math-Verify on the whole reply."""
    from math_verify import parse, verify

    def accepts(form: Form) -> bool:
        return bool(verify(parse(form["gold"]), parse(form["reply"])))

    yield "numeric", "Math-Verify, `verify(parse(gold), parse(reply))`", accepts


PACKAGES = {"lm_eval": lm_eval, "inspect_ai": inspect_ai, "math_verify": math_verify}


def main() -> None:
    """Grade the forms that standard input holds."""
    forms: list[Form] = json.load(sys.stdin)
    rows, absent = [], []
    for package, rules in PACKAGES.items():
        if importlib.util.find_spec(package) is None:
            absent.append(package)
            continue
        version = importlib.metadata.version(package)
        for kind, name, accepts in rules():
            verdicts = [accepts(form) for form in forms if form["kind"] == kind]
            tool, _, rest = name.partition(", ")
            rows.append({"kind": kind, "rule": f"{tool} {version}, {rest}", "verdicts": verdicts})
    print(json.dumps({"rows": rows, "absent": absent}))


if __name__ == "__main__":
    main()
