"""`python -m perf [name …]`: run the measurements."""

import sys

from perf import (
    api,
    clients,
    crowd,
    engine,
    evaluation,
    executors,
    listing,
    objects,
    openenv,
    orchestration,
    page,
    proxy,
    resume,
    rollouts,
    sandbox,
    search,
    seats,
    show_runs,
    stalls,
    start,
    team,
)
from perf.machine import machine

ALL = {
    "noop": engine.noop,
    "model": engine.model,
    "environment": engine.environment,
    "sandbox": sandbox.sandbox,
    "resume": resume.resume,
    "help": engine.help_,
    "listing": listing.listing,
    "api": api.api,
    "cold": api.cold,
    "page": page.page,
    "openenv": openenv.openenv,
    "proxy": proxy.proxy,
    "orchestration": orchestration.orchestration,
    "rollouts": rollouts.rollouts,
    "evaluation": evaluation.evaluation,
    "clients": clients.clients,
    "search": search.search,
    "seats": seats.seats,
    "show-runs": show_runs.show_runs,
    "executors": executors.executors,
    "waiting": executors.waiting,
    "memory": executors.memory,
    "crowd": crowd.crowd,
    "objects": objects.objects,
    "stalls": stalls.stalls,
    "start": start.start,
    "team": team.team,
}


def main() -> None:
    """Run the named measurements, or all of them."""
    names = sys.argv[1:] or list(ALL)
    print(machine())
    for name in names:
        if name not in ALL:
            raise SystemExit(f"{name!r} is no measurement; there are: {', '.join(ALL)}")
        ALL[name]()


if __name__ == "__main__":
    main()
