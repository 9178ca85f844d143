"""What one session carries: the numbers of `perf executors` on paper, for up to 1,000 nodes.

python -m perf.fan_in SESSION_MS CALL_MS BYTES    measured: processor time of the session for an episode, for one call
                                                  to an actor that brings a report, and bytes of an episode
"""

import sys
from dataclasses import dataclass

from mesocosm.engine.executors.dispatch import EVERY_S, MOST, REPORTS


@dataclass(frozen=True)
class Shape:
    """Episodes: what they are, their seconds and steps, how many an actor plays at a time, and actors of a node."""

    what: str
    seconds: float
    steps: int
    at_once: int
    actors: int


SHAPES = (
    Shape("5 ms of processor time, 32 actors a node", 0.005, 1, 1, 32),
    Shape("1 s of processor time, 32 actors a node", 1.0, 1, 1, 32),
    Shape("60 s of waiting, one actor a node with 500 at a time", 60.0, 1, 500, 1),
    Shape("20 min of an agent, one actor a node with 64 at a time", 1200.0, 50, 64, 1),
)


@dataclass(frozen=True)
class Load:
    """What a session does in a second, as shares of its core, and its traffic."""

    episodes: float
    reports: float
    core: float
    mib: float


def load(actors: int, shape: "Shape", session_ms: float, call_ms: float, size: float) -> Load:
    """Return the load of a session with so many actors."""
    episode_s, at_once = shape.seconds, shape.at_once
    episodes = actors * at_once / episode_s
    every = min(max(actors / REPORTS, EVERY_S[0]), EVERY_S[1])
    # An actor reports when something has happened, at its pace, and gets a shard for each that it has played.
    happens = at_once / episode_s
    reports = actors * min(1 / every, (2 + shape.steps) * happens)
    shards = actors * happens / min(max(happens / 2, 1), MOST)
    core = (episodes * session_ms + (reports + shards) * call_ms) / 1000
    return Load(episodes, reports, core, episodes * size / 2**20)


def main() -> None:
    """Print a table in Markdown."""
    session_ms, call_ms, size = (float(word) for word in sys.argv[1:4])
    print("| episodes | nodes | actors | episodes/s | reports/s | cores of the session | MiB/s |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for shape in SHAPES:
        for nodes in (1, 10, 100, 1000):
            actors = nodes * shape.actors
            one = load(actors, shape, session_ms, call_ms, size)
            core = f"{one.core:,.2f}" if one.core <= 1 else f"**{one.core:,.1f}**"
            print(
                f"| {shape.what} | {nodes:,} | {actors:,} | {one.episodes:,.0f} | {one.reports:,.0f} | {core} "
                f"| {one.mib:,.1f} |"
            )


if __name__ == "__main__":
    main()
