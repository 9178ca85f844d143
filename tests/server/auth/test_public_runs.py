"""What the public sees of the record of a run."""

import pytest
from tests.store.conftest import Samples

from mesocosm.core.run import RAN_ON
from mesocosm.server.auth.redaction import public


def test_machines_that_played_episodes_have_numbers_instead_of_names() -> None:
    run = Samples().run(provenance={RAN_ON: {"gpu-7.internal": 30, "gpu-9.internal": 10}, "python": "3.11"})
    assert public(run).provenance == {RAN_ON: {"machine 1": 30, "machine 2": 10}, "python": "3.11"}


@pytest.mark.parametrize("odd", ["gpu-7", ["gpu-7"], {"gpu-7": "many"}, None])
def test_what_a_pushed_run_says_instead_of_machines_is_not_shown(odd: object) -> None:
    run = Samples().run(provenance={RAN_ON: odd})
    assert public(run).provenance == {}
