"""When a schedule is due: five fields of cron in a time zone.

As in Debian's cron, a job at a time of the day that the clocks skip runs when they have moved forward, and one at a
time that comes twice runs at the first; jobs every few minutes or hours run by elapsed time.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

LONGEST_CRON = 200
_FIELDS = 5
_FORM = "write minute, hour, day of month, month and day of week, such as '0 3 * * 1-5' for 3:00 from Monday to Friday"
_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}


def cron_fault(cron: str) -> str:
    """Return what is wrong with a cron expression; empty if nothing is."""
    from cronsim import CronSim, CronSimError

    if len(cron) > LONGEST_CRON:
        return f"the cron expression has more than {LONGEST_CRON} characters; {_FORM}"
    fields = _expanded(cron)
    if len(fields.split()) != _FIELDS:
        return f"the cron expression {cron!r} does not have five fields; {_FORM}"
    try:
        first = next(CronSim(fields, datetime(2024, 1, 1)), None)  # noqa: DTZ001 -- any time zone does
    except CronSimError as error:
        return f"the cron expression {cron!r} cannot be read ({str(error).lower()}); {_FORM}"
    return "" if first is not None else f"the cron expression {cron!r} names no time in the next 50 years; {_FORM}"


def timezone_fault(name: str) -> str:
    """Return what is wrong with the name of a time zone; empty if nothing is."""
    if name in _timezones():
        return ""
    near = next((known for known in sorted(_timezones()) if known.casefold() == name.casefold()), "")
    hint = f"did you mean {near}?" if near else "use a name such as UTC, Europe/Berlin or America/New_York"
    return f"there is no time zone {name[:100]!r}; {hint}"


def next_times(cron: str, timezone: str, after: float) -> Iterator[float]:
    """Yield the times of a valid expression after a UNIX time, as UNIX times; they may end."""
    from cronsim import CronSim

    for found in CronSim(_expanded(cron), datetime.fromtimestamp(after, ZoneInfo(timezone))):
        # In the hour that comes twice, the library goes on from the first one.
        if (at := found.timestamp()) > after:
            yield at


def next_time(cron: str, timezone: str, after: float) -> float | None:
    """Return the first of `next_times`; None if there is none."""
    return next(next_times(cron, timezone, after), None)


def _expanded(cron: str) -> str:
    return _NAMED.get(cron.strip().lower(), cron)


@lru_cache(maxsize=1)
def _timezones() -> frozenset[str]:
    # What `localtime` is depends on the machine.
    return frozenset(available_timezones() - {"localtime", "Factory"})
