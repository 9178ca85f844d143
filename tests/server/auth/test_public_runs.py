"""What the public sees of the record of a run."""

import pytest
from tests.store.conftest import Samples

from mesocosm.core.event import Event, Kind
from mesocosm.core.run import RAN_ON
from mesocosm.server.auth.redaction import MARK, public, redact_event, redact_run


def test_machines_that_played_episodes_have_numbers_instead_of_names() -> None:
    run = Samples().run(provenance={RAN_ON: {"gpu-7.internal": 30, "gpu-9.internal": 10}, "python": "3.11"})
    assert public(run).provenance == {RAN_ON: {"machine 1": 30, "machine 2": 10}, "python": "3.11"}


@pytest.mark.parametrize("odd", ["gpu-7", ["gpu-7"], {"gpu-7": "many"}, None])
def test_what_a_pushed_run_says_instead_of_machines_is_not_shown(odd: object) -> None:
    run = Samples().run(provenance={RAN_ON: odd})
    assert public(run).provenance == {}


def test_what_its_owner_asked_about_a_run_is_not_shown() -> None:
    asked = {"scans": {"hides": {"question": "Does it hide something?"}}, "scan_of": "run", "fork": {"run": "run"}}

    assert redact_run(Samples().run(provenance={**asked, "python": "3.12"})).provenance == {"python": "3.12"}


def test_the_right_answer_in_what_a_rollout_ended_with_is_hidden() -> None:
    ended = {"data": {"label": "42", "messages": []}, "info": {"expected": "42", "turns": 3}}
    shown = redact_event(Event(0, 1, 0.0, Kind.OBSERVATION, ended)).payload
    assert shown == {"data": {"label": MARK, "messages": []}, "info": {"expected": MARK, "turns": 3}}
