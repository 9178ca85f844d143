"""The benchmarks that other frameworks offer on this machine, as they were last asked; nothing is started."""

from mesocosm.guests.catalogue import kept_entries, matching
from mesocosm.guests.kinds import KINDS
from mesocosm.server.schemas.framework import Framework, FrameworkBenchmark, FrameworkBenchmarks


def framework_benchmarks(text: str, limit: int) -> FrameworkBenchmarks:
    """Return the first `limit` benchmarks with all words of `text`, and all frameworks."""
    kept = {kind.name: entries for kind, entries in kept_entries()}
    found = matching([entry for entries in kept.values() for entry in entries], text.split())
    return FrameworkBenchmarks(
        items=[
            FrameworkBenchmark(
                run=entry.run,
                title=entry.title or entry.id,
                description=entry.description,
                tasks=entry.tasks,
                needs=list(entry.needs),
                licence=entry.licence,
                tags=list(entry.tags),
            )
            for entry in found[:limit]
        ],
        found=len(found),
        frameworks=[
            Framework(name=kind.name, title=kind.title, benchmarks=len(kept[kind.name]) if kind.name in kept else None)
            for kind in KINDS.values()
        ],
    )
