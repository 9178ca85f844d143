"""Two episodes as a document, for those who see all of their runs and for those who do not."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from mesocosm.core.episode import Episode
from mesocosm.core.event import Event, Kind
from mesocosm.server.permissions.visible_runs import VisibleEpisode
from mesocosm.server.refusal import Refusal
from mesocosm.server.runs.episode_pair import compare_pair


def visible(name: str, kinds: list[tuple[Kind, dict[str, Any]]], *, redacted: bool) -> VisibleEpisode:
    """Return an episode as somebody sees it."""
    events = [Event(seq, min(seq, 1), 0.0, kind, payload) for seq, (kind, payload) in enumerate(kinds)]
    run = SimpleNamespace(id=f"run of {name}", redacted=redacted)
    record = Episode(name, run.id, "task", "seed-1")
    return cast("VisibleEpisode", SimpleNamespace(id=name, run=run, record=record, events=lambda: iter(events)))


CALLS = [(Kind.EPISODE_START, {}), (Kind.MODEL_CALL, {"text": "yes"}), (Kind.MODEL_CALL, {"text": "no"})]
ACTIONS = [(Kind.EPISODE_START, {}), (Kind.MODEL_CALL, {"text": "yes"}), (Kind.ACTION, {"action": "up"})]


def test_replies_that_are_hidden_are_not_compared() -> None:
    own, public = visible("own", CALLS, redacted=False), visible("public", CALLS, redacted=True)
    assert compare_pair(own, visible("other", CALLS, redacted=False)).finding == "same"
    for pair in ((own, public), (public, own)):
        with pytest.raises(Refusal, match="what a model said in run run of public is for those who own it"):
            compare_pair(*pair)


def test_actions_of_a_public_run_are_compared() -> None:
    found = compare_pair(visible("a", ACTIONS, redacted=True), visible("b", ACTIONS, redacted=True))
    assert (found.finding, found.by) == ("same", "step")
