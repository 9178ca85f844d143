"""`mesocosm eval ask`, `run WHAT` and `compare WHAT`: one call of `mesocosm.evaluate` from the command line."""

import ast
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import mesocosm as mc
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Outcome

ROWS = "question,answer,level\n1 + 1?,2,easy\n2 + 3?,5,easy\n30 + 4?,34,hard\n50 * 2?,100,hard\n"
ASK = ("eval", "ask", "q.csv", "--prompt", "{{question}}", "--grader", "numeric")
Ask = Callable[..., "Outcome"]


@pytest.fixture
def ask(mesocosm: "Invoke", here: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return what runs a command line in a directory with rows, without models by default."""
    (here / "q.csv").write_text(ROWS)
    for name in ("MESOCOSM_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    return mesocosm


def test_rows_are_asked_and_the_score_is_told_with_what_can_be_done_next(ask: Ask) -> None:
    done = ask(*ASK, "-m", "builtin/oracle")

    assert done.code == 0, done.err
    score, browser, python = done.out.splitlines()
    assert score == "score     1.0000  [0.5101, 1.0000] weak  4/4"
    assert browser.startswith("browser    ")
    assert python == 'in Python  mc.evaluate("q.csv", prompt="{question}", grader="numeric", model="builtin/oracle")'
    assert done.err.startswith("q · 4 rows · right answer: column answer · oracle\n")
    assert done.err.endswith("4/4   1.00 [0.51, 1.00] weak\n")


def test_the_line_in_python_is_python_and_finds_the_same_run(ask: Ask) -> None:
    done = ask(*ASK, "-m", "builtin/empty", "--system", "Be short.", "--set", "model.temperature=0.5", "--json")
    line = done.document["python"]
    found = eval(line.replace("mc.evaluate(", "mc.evaluate(progress=False, what="), {"mc": mc})

    assert isinstance(ast.parse(line, mode="eval").body, ast.Call)
    assert found.id == done.document["run"]["id"]


def test_the_same_command_again_asks_nothing(ask: Ask) -> None:
    first, again = (ask(*ASK, "-m", "builtin/oracle", "--json").document["run"]["id"] for _ in range(2))

    assert again == first
    assert ask(*ASK, "-m", "builtin/oracle", "--fresh", "--json").document["run"]["id"] != first


def test_an_interrupt_says_what_is_stored_and_that_the_same_command_continues(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(*ASK, "-m", "builtin/oracle")
    run = mc.get_run("last")
    kept: list[mc.Run] = []

    def interrupted(work: object) -> None:
        raise mc.Interrupted(runs=kept)

    monkeypatch.setattr("mesocosm.api.waiting.waited", interrupted)
    nothing = ask(*ASK, "-m", "builtin/empty")
    kept.append(run)
    part = ask(*ASK, "-m", "builtin/oracle", "-m", "builtin/empty")

    assert (nothing.code, part.code) == (130, 130)
    assert nothing.err.endswith("interrupted before a run began: no run is stored, and the same command starts it\n")
    assert "builtin/oracle: 4 of 4 are stored in run " in part.err
    assert part.err.endswith("builtin/empty: not begun\ninterrupted: the same command continues\n")


def test_a_function_that_asks_no_model_needs_none(ask: Ask, here: Path) -> None:
    (here / "mine.py").write_text("def agent(prompt):\n    return '2'\n")

    done = ask(*ASK, "--agent", "mine.py:agent", "--json")

    assert (done.code, done.document["run"]["metrics"][0]["value"]) == (0, 0.25), done.err


def test_everything_that_is_wrong_is_said_at_once_with_what_was_meant(ask: Ask, here: Path) -> None:
    refused = ask("eval", "ask", "q.csv", "--prompt", "{{questoin}}", "--grader", "numeric")

    assert refused.code == 2
    assert refused.err == (
        "error: the prompt names {{questoin}}; columns of q.csv: question, answer, level\n"
        "  did you mean  --prompt '{{question}}'\n"
        "error: which model? Add -m. Here you have\n"
        "  replay/FILE.jsonl   recorded answers\n"
        "  builtin/oracle, builtin/empty   ceiling and floor, no model needed\n"
    )
    assert [path.name for path in here.iterdir()] == ["q.csv"]


async def test_models_of_this_machine_are_offered(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    monkeypatch.setenv("OPENAI_API_KEY", "canary-key")
    async with ModelServer(models=["llama3.2:3b"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        refused = await asyncio.to_thread(ask, *ASK)

    assert "\n  openai/…             OPENAI_API_KEY is set\n" in refused.err
    assert "\n  ollama/llama3.2:3b   running on this machine\n" in refused.err
    assert "canary-key" not in refused.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--expected", "anser"),
            "--expected anser: columns of q.csv: question, answer, level\n  did you mean  --expected answer",
        ),
        (("--grader", "numerc"), "did you mean 'numeric'?"),
        (("--set", "model.temprature=1"), "did you mean model.temperature?"),
        (("-m", "builtin/oracle"), "two of these prompts or models are the same"),
        (("--answers", "answer"), "leave --prompt and --agent out"),
        (("--baseline", "last"), "there are no results"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_stored(
    ask: Ask, here: Path, words: tuple[str, ...], said: str
) -> None:
    refused = ask(*ASK, "-m", "builtin/oracle", *words)

    assert (refused.code in {1, 2}, said in refused.err) == (True, True), refused.err
    assert [path.name for path in here.iterdir()] == ["q.csv"]


def test_rows_without_a_prompt_get_the_command_for_their_columns(ask: Ask) -> None:
    line = "mesocosm eval ask q.csv --prompt '{{question}}' --grader numeric -m MODEL"

    assert line in ask("run", "q.csv", "-m", "builtin/oracle").err
    assert line in ask("eval", "ask", "q.csv", "-m", "builtin/oracle").err


def test_wrong_answers_are_counted_and_listed(ask: Ask) -> None:
    done = ask(*ASK, "-m", "builtin/empty")

    assert "\n4 wrong    mesocosm run show last --wrong\n" in done.out
    wrong = ask("run", "show", "last", "--wrong", "--limit", "1")
    assert wrong.out.startswith("0  numeric 0.0000\n  input     1 + 1?\n  expected  2\n  why       ")
    assert wrong.out.endswith("and more: --limit 10\n")
    assert ask("run", "show", "last", "--by", "level", "--json").document["items"][0]["samples"] == 2
    assert ask("run", "show", "last", "--failed").out == "no episode failed\n"


def test_what_a_benchmark_asked_is_shown_with_the_score_that_ranks(ask: Ask) -> None:
    assert ask("bench", "run", "context-bench", "-m", "builtin/empty", "-n", "1", "--quiet").code == 0
    wrong = ask("run", "show", "last", "--wrong").out.splitlines()

    assert wrong[0].endswith("  accuracy 0.0000")
    assert wrong[1].startswith("  input     Read the text and answer the question that follows it. ")
    assert wrong[1].endswith(" Reply with that code and nothing else.")
    assert wrong[2].startswith("  expected  ")
    assert wrong[3:] == ["  why       The reply is empty"]


def test_a_gate_with_a_metric_that_is_not_there_is_refused_before_anything_is_asked(ask: Ask, here: Path) -> None:
    refused = ask(*ASK, "-m", "builtin/oracle", "--fail-if", "scroe<0.8")

    assert refused.code == 2
    assert refused.err == "error: 'scroe<0.8': q has no metric 'scroe'; did you mean 'score'?\n"
    assert [path.name for path in here.iterdir()] == ["q.csv"]


def test_a_gate_with_a_metric_that_a_function_could_have_given_cannot_be_decided(ask: Ask, here: Path) -> None:
    (here / "mine.py").write_text("def graded(answer, expected):\n    return {'score': 1, 'length': len(answer)}\n")
    words = (*ASK[:-1], "mine.py:graded", "-m", "builtin/oracle", "--fail-if")

    assert ask(*words, "length<0").code == 0
    assert ask(*words, "lenght<0").code == 3
    assert ask("gate", "--fail-if", "lenght<0", "last").code == 2
    assert ask("compare", "last", "last~1", "--metric", "lenght").code == 2


def test_models_are_compared_and_a_regression_closes_the_gate(ask: Ask) -> None:
    done = ask(*ASK, "-m", "builtin/oracle", "-m", "builtin/empty", "--fail-if", "regression p<0.5", "--quiet")

    assert done.code == 1
    lines = done.out.splitlines()
    assert lines[0] == "q, numeric"
    assert lines[1] == "  builtin/oracle  1.0000 [0.5101, 1.0000] weak"
    assert lines[2].startswith("  builtin/empty   0.0000 [")
    assert lines[3].startswith("  difference -1.0000 [")
    assert "flipped    mesocosm compare last~1 last --flipped" in lines
    assert lines[-1].startswith('in Python  mc.sweep("q.csv", ')
    swept = eval(lines[-1].removeprefix("in Python  ")[:-1] + ", progress=False)", {"mc": mc})
    assert [run.model for run in swept] == ["builtin/oracle", "builtin/empty"]
    assert len(mc.runs()) == 2
    assert "  2  1.0000 → 0.0000\n" in ask("compare", "last~1", "last", "--flipped").out


def test_two_episodes_of_a_task_are_compared_step_by_step(ask: Ask) -> None:
    assert ask(*ASK, "-m", "builtin/oracle", "-m", "builtin/empty", "--quiet").code == 0
    done = ask("compare", "last~1/0", "last/0")

    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[1].startswith("expected  ")
    assert [line.split()[:3] for line in lines[2:4]] == [["A", "oracle", "passed"], ["B", "empty", "not"]]
    assert "The same question, another reply." in lines
    assert "/compare/episodes?a=" in lines[-1]
    found = ask("compare", "last~1/0", "last/0", "--json").document
    assert (found["finding"], found["first"], found["a"]["verdict"]) == ("action", 1, "passed")


def test_episodes_that_cannot_be_compared_are_told(ask: Ask) -> None:
    assert ask(*ASK, "-m", "builtin/oracle", "--quiet").code == 0
    other = ask("compare", "last/0", "last/1")
    assert (other.code, "of different tasks" in other.out) == (1, True)
    assert ask("compare", "last/0", "last/0").code == 2
    missing = ask("compare", "last/0", "last/99")
    assert (missing.code, "99" in missing.err) == (2, True)


def test_prompts_are_compared_by_their_words(ask: Ask, here: Path) -> None:
    (here / "cot.txt").write_text("Step by step. {question}\n")

    done = ask(*ASK, "--prompt", "@cot.txt", "-m", "builtin/oracle", "--json")

    assert [one["label"] for one in done.document["items"]] == ["{{question}}", "@cot.txt"]
    assert len({one["id"] for one in done.document["items"]}) == 2


def test_answers_that_are_there_are_graded_without_a_model(ask: Ask, here: Path) -> None:
    (here / "done.csv").write_text("output,answer\nIt is 3,3\n4,5\n")

    done = ask("eval", "ask", "done.csv", "--answers", "output", "--grader", "numeric", "--grader", "exact", "--quiet")

    assert done.code == 0, done.err
    assert done.out.splitlines()[:2] == [
        "score     0.5000  [0.0945, 0.9055] weak  2/2",
        "exact     0.0000  [0.0000, 0.6576] weak  2/2",
    ]


def test_what_was_asked_is_saved_as_a_configuration_that_finds_the_same_run(ask: Ask, here: Path) -> None:
    asked = ask(
        *ASK, "-m", "builtin/oracle", "-n", "2", "--set", "model.temperature=0.5", "--save", "ask.toml", "--json"
    )

    again = ask("eval", "run", "ask.toml", "--json")

    assert again.code == 0, again.err
    assert again.document["run"]["id"] == asked.document["run"]["id"]
    assert ask("run", "ask.toml", "-m", "builtin/empty", "--json").document["run"]["scores"]["numeric"] == 0
    (here / "ask.toml").write_text('data = "q.csv"\npromt = "x"\n')
    assert "did you mean `prompt`?" in ask("eval", "run", "ask.toml").err


def test_a_configuration_can_close_the_gate(ask: Ask, here: Path) -> None:
    text = 'data = "q.csv"\nprompt = "{question}"\ngrader = "numeric"\nmodel = "builtin/empty"\nfail_if = "score<0.8"\n'
    (here / "ask.toml").write_text(text)

    assert ask("eval", "run", "ask.toml").code == 1


def test_an_environment_is_run_by_its_folder(ask: Ask, scaffolded: Path) -> None:
    done = ask("run", scaffolded, "-m", "builtin/oracle", "-n", "3", "--json")

    assert done.code == 0, done.err
    assert done.document["run"]["counts"]["completed"] == 3
    assert done.document["python"].endswith(', limit=3, model="builtin/oracle")')


@pytest.mark.parametrize("words", ["run context-bench", "compare context-bench -m builtin/empty"])
def test_a_benchmark_is_run_by_its_name(ask: Ask, words: str) -> None:
    done = ask(*shlex.split(words), "-m", "builtin/oracle", "-n", "2", "--json")

    assert done.code == 0, done.err
    outcomes = done.document.get("items", [done.document])
    assert outcomes[-1]["outcomes"][0]["score"] == 1


@pytest.mark.parametrize("kind", ["dataset", "agent"])
def test_a_project_for_rows_runs(ask: Ask, kind: str) -> None:
    made = ask("init", "mine", "--kind", kind)

    assert made.code == 0, made.err
    assert made.out.count("wrote ") <= 4
    assert "run it cd mine && mesocosm eval run eval.toml   # 5 of 5 scored, numeric 1.0000" in made.out


def test_the_dialogue_about_rows_writes_what_was_answered(
    ask: Ask, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mesocosm.cli.starter.on_terminal", lambda: True)

    made = ask("init", stdin="1\n\nAnswer. {{question}}\n\n\n\n")

    assert made.code == 0, made.err
    assert "Columns: question, answer, level.\n" in made.out
    assert "Values look like numbers. Grader [numeric]" in made.out
    assert 'prompt = "Answer. {{question}}"' in (here / "eval.toml").read_text()
    assert made.out.count("# 4 of 4 scored, numeric 1.0000") == 1


@pytest.mark.parametrize("what", ["./nothing", "bench.py@capitals", "env.py:MyEnv", "p.csv"])
def test_what_is_not_there_is_said_to_be_missing(ask: Ask, what: str) -> None:
    refused = ask("run", what, "-m", "builtin/oracle")

    assert (refused.code, "error: there is no file or folder " in refused.err) == (2, True)
    assert ("did you mean q.csv?" in refused.err) == (what == "p.csv")


def test_a_marked_function_is_run_with_its_parameters(ask: Ask, here: Path) -> None:
    (here / "bench.py").write_text(
        "import mesocosm as mc\n\n\n@mc.benchmark\ndef sums(most: int = 9):\n"
        '    rows = [{"q": f"{n} + 1?", "answer": str(n + 1)} for n in range(most)]\n'
        '    return mc.Benchmark(rows, name="sums", prompt="{q}", expected="answer", grader="numeric")\n'
    )

    done = ask("run", "bench.py@sums", "-m", "builtin/oracle", "-P", "most=3", "--quiet")

    assert done.code == 0, done.err
    assert done.out.startswith("score     1.0000  [0.4385, 1.0000] weak  3/3\n")
    assert 'mc.evaluate("bench.py@sums", params={"most": 3}, model="builtin/oracle")' in done.out


def test_a_grader_that_fails_says_why(ask: Ask, here: Path) -> None:
    (here / "g.py").write_text("def mine(answer, expected):\n    raise KeyError('forgotten')\n")

    done = ask(*ASK[:-1], "g.py:mine", "-m", "builtin/oracle", "--quiet")

    assert done.code == 1
    reason = "  4 grader_error, first in 0: grader mine raised KeyError: 'forgotten'\n"
    assert reason in done.out
    second = ask(*ASK, "--grader", "g.py:mine", "-m", "builtin/oracle", "--quiet")
    assert second.out.startswith("score     1.0000")
    assert reason in second.out
    assert reason in ask("run", "show", "last").out


def test_rows_that_ask_the_same_are_told(ask: Ask, here: Path) -> None:
    (here / "twice.csv").write_text("question,answer\n1 + 1?,2\n1 + 1?,2\n2 + 2?,4\n")

    done = ask("eval", "ask", "twice.csv", *ASK[3:], "-m", "builtin/oracle", "--quiet")

    assert "\nwarning: 1 of 3 tasks ask the same as one before them; " in done.out


def test_a_result_of_a_benchmark_ends_with_the_call_that_finds_the_same_run(ask: Ask) -> None:
    words = ("bench", "run", "context-bench", "-m", "builtin/oracle", "-n", "2", "-P", "families=needle", "--quiet")
    python = ask(*words, "--set", "model.temperature=0.5").out.splitlines()[-1]

    assert python == (
        'in Python  mc.evaluate("context-bench", params={"families": "needle"}, limit=2, temperature=0.5, '
        'model="builtin/oracle")'
    )
    call = python.removeprefix("in Python  ").replace("mc.evaluate(", "mc.evaluate(progress=False, what=")
    assert eval(call, {"mc": mc}).id == ask("run", "list", "--json").document["items"][0]["id"]
    assert len(mc.runs()) == 1
