"""The parts of a run are closed in the end."""

from typing import Any, cast

import pytest

from mesocosm.core.ports import Parts
from mesocosm.core.run import RunSpec
from mesocosm.engine import opening


class Part:
    """Something that can be closed, and may fail in that."""

    def __init__(self, name: str, closed: list[str], *, fails: bool) -> None:
        self._name, self._closed, self._fails = name, closed, fails

    async def close(self) -> None:
        self._closed.append(self._name)
        if self._fails:
            raise OSError(f"{self._name} cannot be closed")


@pytest.mark.parametrize("broken", ["benchmark", "model"])
async def test_a_part_that_cannot_be_closed_keeps_no_other_open(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    closed: list[str] = []
    parts: Any = {name: Part(name, closed, fails=name == broken) for name in ("benchmark", "model", "judge")}
    monkeypatch.setattr(opening, "open_parts", lambda _: Parts(agent=cast(Any, None), **parts))

    with pytest.raises(OSError, match=f"{broken} cannot be closed"):
        async with opening.opened(cast(RunSpec, None)):
            assert closed == []

    assert closed == ["benchmark", "model", "judge"]
