"""The words of the web app for causes, against the table that they come from."""

import re
from pathlib import Path

from mesocosm.core.failure import Cause

WORDS = Path(__file__).parents[2] / "viewer" / "src" / "cause.ts"
BESIDE = {"not_run", "agent_failure"}
"""What values are missing for that no failure is."""


def test_the_web_app_has_words_for_every_cause_and_no_other() -> None:
    assert set(re.findall(r"^  (\w+): \{", WORDS.read_text(), re.MULTILINE)) == {*map(str, Cause), *BESIDE}
