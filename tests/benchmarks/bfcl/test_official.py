"""bfcl: `score_official` is the leaderboard's verdict; `format_only` says where only the form differs."""

import json
from pathlib import Path

import pytest
from tests.benchmarks.bfcl.mutated import digest_of, official_verdict, rows

from mesocosm.benchmarks.builtin.bfcl.categories import Language

RECORDED = Path(__file__).with_name("verdicts.json")
"""The leaderboard's verdicts on the answers of `rows(SEED, language, RECORDED_ROWS)`; perf/bfcl writes them."""
RECORDED_ROWS, SEED = 1500, 7


@pytest.mark.parametrize("language", ["python", "java", "javascript"])
def test_verdicts_are_those_that_the_leaderboard_s_checker_gave(language: Language) -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))[language]
    answers = list(rows(SEED, language, RECORDED_ROWS))
    assert digest_of(answers) == recorded["answers"], "other answers than those judged: make test-bfcl WRITE=1"
    letters = {True: "1", False: "0"}
    differing = [
        row
        for row, verdict in zip(answers, recorded["verdicts"], strict=True)
        if verdict not in ("?", letters[bool(official_verdict(row))])
    ]
    assert differing == []
