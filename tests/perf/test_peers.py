"""The comparison with other runners: its table, its work, and what it measures of a command."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from perf.peers import tasks
from perf.peers.table import BEGIN, END, PAGE, RESULT, put, table
from perf.peers.work import WORSE, questions, said, score

ROOT = Path(__file__).parents[2]
CELL = {"delay_ms": 50.0, "at_once": 20}


def measurement(runner: str, number: int, seconds: float) -> dict[str, Any]:
    figures = {"seconds": seconds, "processor": seconds / 2, "peak": 100 * 2**20, "disk": 2 * 2**20, "score": 0.75}
    return {"runner": runner, "round": number, **CELL, **figures, "left_behind": 0}


RESULTS = {
    "machine": "a machine",
    "questions": 1000,
    "rounds": 3,
    "score": 0.75,
    "cells": [CELL],
    "peers": [{"name": "other", "title": "Other 1.2", "ours": "mine", "ours_title": "`mine`"}],
    "missing": {"Third": "it needs a login"},
    "measurements": [
        *[measurement("mine", number, seconds) for number, seconds in enumerate((1.0, 2.0, 6.0))],
        *[measurement("other", number, seconds) for number, seconds in enumerate((10.0, 4.0, 20.0))],
    ],
}


def test_the_table_has_the_median_of_the_ratios_within_a_round() -> None:
    (row,) = [line for line in table(RESULTS).splitlines() if line.startswith("| Other")]
    assert row == (
        "| Other 1.2 | `mine` | 50 ms | 20 | **0.30** (2.0 / 10.0 s) | **0.30** (1.0 / 5.0 ms) "
        "| **1.00** (100 / 100 MiB) | **1.00** (2.0 / 2.0 MiB) |"
    )


def test_a_peer_that_was_not_measured_is_named_with_its_reason() -> None:
    assert table(RESULTS).endswith("\nNot measured: Third, because it needs a login.")


def test_a_round_that_only_one_of_them_finished_does_not_count() -> None:
    cut = {**RESULTS, "measurements": RESULTS["measurements"][:-1]}  # type: ignore[index]
    assert "**0.30** (1.5 / 7.0 s)" in table(cut)


def test_the_block_replaces_what_stands_between_the_comments_and_nothing_else() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert put(page, "new") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"


def test_a_page_without_the_comments_is_refused() -> None:
    with pytest.raises(ValueError, match="the page lacks"):
        put("nothing", "new")


def test_the_page_has_the_table_of_the_result_that_is_kept() -> None:
    page = PAGE.read_text()
    assert put(page, table(json.loads(RESULT.read_text()))) == page


def test_a_line_to_write_is_one_of_a_file_that_is_not_blank_or_a_command() -> None:
    promptfoo = next(tool for tool in tasks.TOOLS if tool.name == "promptfoo")
    assert tasks.lines(promptfoo, promptfoo.ways["why"]) == 5 + 2


def test_a_task_that_a_tool_cannot_do_has_its_reason_below_the_table() -> None:
    figures = {"lm_eval": {task: [9.0, 7.0, 8.0] for task in tasks.LM_EVAL}}
    result = {"machine": "a machine", "rows": 40, "rounds": 3, "titles": {"lm_eval": "lm-eval 1"}, "missing": {}}
    lines = tasks.table({**result, "seconds": figures, "processor": figures}).splitlines()
    assert "| evaluate a CSV | 14, 1, 8.0 s (8.0) |" in lines
    assert "| write and evaluate an environment | – (1) |" in lines
    assert lines[-1].startswith("(1) lm-eval: a task is one request")


def test_every_tool_does_every_task_or_says_why_not() -> None:
    for tool in tasks.TOOLS:
        assert tool.ways.keys() ^ tool.reasons.keys() == tasks.TASKS.keys()


def test_the_page_of_tasks_has_the_table_of_the_result_that_is_kept() -> None:
    page = tasks.PAGE.read_text()
    assert put(page, tasks.table(json.loads(tasks.RESULT.read_text())), tasks.BEGIN, tasks.END) == page


def test_questions_differ_and_the_model_gets_every_fourth_wrong() -> None:
    made = questions(1000)
    assert len({one["question"] for one in made}) == 1000
    assert score(1000) == 0.75
    assert said("What is this?") == "I see no question."
    assert score(30, WORSE) == pytest.approx(2 / 3)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures by /proc")
def test_processor_time_and_memory_of_processes_that_outlive_the_command_count(tmp_path: Path) -> None:
    burn = "import time; kept = b'1' * 60_000_000; [None for _ in iter(lambda: time.process_time() < 0.5, False)]"
    leave = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {burn!r}])"
    command = [sys.executable, "-c", leave]
    result = tmp_path / "figures.json"
    arguments = [str(result), "60", str(tmp_path), "{}", *command]
    subprocess.run([sys.executable, "-m", "perf.peers.measure", *arguments], cwd=ROOT, check=True)
    found = json.loads(result.read_text())
    assert (found["code"], found["left_behind"]) == (0, 0)
    assert found["processor"] >= 0.5
    assert found["peak"] >= 60_000_000
