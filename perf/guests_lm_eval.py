"""What an episode of an lm-evaluation-harness task costs, beside one of its own runner against the same model server.

Processor time of all processes of a run, without the model server. Two sizes, so that what a start costs falls out; the
two runners alternate, and the least time of each counts, because what else a shared machine does only adds to it.
`MESOCOSM_TEST_GUESTS` names the environments of the guests.

    MESOCOSM_TEST_GUESTS=DIR python -m perf.guests_lm_eval [texts|choices]
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from perf.machine import ROOT, machine, started

FEW, MANY, ROUNDS = 100, 1100, 3
FORMS = {
    "texts": ("generate_until", "[{metric: exact_match, aggregation: mean, higher_is_better: true}]"),
    "choices": ("multiple_choice", "[{metric: acc, aggregation: mean, higher_is_better: true}]"),
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


def _spent(command: list[str], folder: Path) -> float:
    """Return the processor time in seconds of a command with all that it starts."""
    offline = {
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "TQDM_DISABLE": "1",
        "OPENAI_API_KEY": "sk-perf-0123456789",
    }
    variables = {**os.environ, **offline, "MESOCOSM_RESULTS_DIR": str(folder / "results")}
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    actions = [(os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)]
    os.chdir(folder)
    process = os.posix_spawn(command[0], command, variables, file_actions=actions)
    _, status, usage = os.wait4(process, 0)
    os.close(log)
    if status:
        raise SystemExit(f"{' '.join(command)} failed:\n{(folder / 'log').read_text()[-3000:]}")
    return usage.ru_utime + usage.ru_stime


def _ours(python: str, folder: Path, url: str, count: int, name: str) -> list[str]:
    params = [f"python={python}", "include_path=.", f"limit={count}"]
    flags = [word for one in params for word in ("-P", one)]
    source = f"lm-eval:perf_{name}"
    return [
        sys.executable,
        "-m",
        "mesocosm",
        "run",
        source,
        "-m",
        f"openai/m@{url}/v1",
        "--fresh",
        "--parallel",
        "16",
        *flags,
    ]


def _theirs(python: str, folder: Path, url: str, count: int, name: str) -> list[str]:
    del folder
    return [python, str(ROOT / "perf" / "lm_eval_runner.py"), url, str(count), name]


def main() -> None:
    """Print the cost of an episode of each form, and what ours adds."""
    python = str(Path(os.environ["MESOCOSM_TEST_GUESTS"]) / "lmeval" / "bin" / "python")
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder)
        server = started(0, "mesocosm.testing.model_server", "--port", "0", "--answer", "7")
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1]
        try:
            for form in sys.argv[1:] or FORMS:
                _compare(form, python, folder, url)
        finally:
            os.chdir(ROOT)
            server.kill()
            server.wait()


def _compare(form: str, python: str, folder: Path, url: str) -> None:
    spent: dict[tuple[str, int], list[float]] = {}
    for _ in range(ROUNDS):
        for count in (FEW, MANY):
            for who, command in (("ours", _ours), ("theirs", _theirs)):
                seconds = _spent(command(python, folder, url, count, form), folder)
                spent.setdefault((who, count), []).append(seconds)
    ours, theirs = (1000 * (min(spent[who, MANY]) - min(spent[who, FEW])) / (MANY - FEW) for who in ("ours", "theirs"))
    print(f"{form}: ours {ours:.2f} ms an episode, its own runner {theirs:.2f} ms, ours adds {ours - theirs:.2f} ms")
    for (who, count), times in spent.items():
        print(f"  {who}, {count} episodes: {', '.join(f'{one:.2f}' for one in sorted(times))} s")


if __name__ == "__main__":
    main()
