"""The attacks of `mesocosm doctor --sandbox`: they find a hole where there is one."""

from __future__ import annotations

import pytest

from mesocosm.sandboxes import attacks
from mesocosm.sandboxes.attacks import ATTACKS
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.sandboxes.programs import Programs

HARMLESS = ("network", "files", "symbolic and hard links", "processes of others")


@pytest.mark.parametrize("name", HARMLESS)
async def test_an_attack_gets_through_where_nothing_is_confined(name: str) -> None:
    with attacks._host() as host:
        ended = await Programs(unsafe=True).run(host.source(ATTACKS[name]), seconds=60)
    assert attacks._through(ended.stdout.decode(), ""), ended.stderr


@pytest.mark.skipif(not available(), reason=available().reason)
async def test_nothing_gets_through_where_programs_are_confined(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = (*HARMLESS, "variables of the environment", "ptrace and other calls", "files without a folder (memfd)")
    monkeypatch.setattr(attacks, "ATTACKS", {name: ATTACKS[name] for name in chosen})
    tried = await attacks.play()
    assert len(tried) == 2 * len(chosen)
    assert [one for one in tried if one.through] == []


@pytest.mark.skipif(not available(), reason=available().reason)
async def test_an_attack_that_is_broken_itself_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attacks, "ATTACKS", {"broken": "1 / 0"})
    assert [one.through for one in await attacks.play()] == [
        ("it could not be tried: ZeroDivisionError: division by zero",)
    ] * 2


def test_what_holds_nothing_says_so() -> None:
    assert "nothing" in attacks.holding("plain")[0]
