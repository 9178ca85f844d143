"""pass@k and pass^k of an evaluation run, as a table."""

from collections.abc import Iterator, Sequence

from mesocosm.cli.render import interval, number
from mesocosm.engine.results import Passes

COLUMNS = ("k", "pass@k", "95 % interval", "pass^k", "95 % interval", "rows")
RIGHT = (0, 1, 3, 5)
ALL_UP_TO = 8
"""With more tries only powers of two are shown, and all tries together."""


def pass_rows(passes: Sequence[Passes]) -> Iterator[list[str]]:
    """Yield a row for each k that is shown; none where every row was tried once."""
    if len(passes) < 2:
        return
    last = passes[-1].k
    for one in passes:
        if last <= ALL_UP_TO or one.k == last or one.k.bit_count() == 1:
            at, hat = one.at, one.hat
            yield [
                str(one.k),
                number(at.value),
                interval(at.low, at.high) or "–",
                number(hat.value),
                interval(hat.low, hat.high) or "–",
                f"{at.tasks:,}",
            ]
