"""Traces as JSON lines, one file per episode, for external programs. `mesocosm run` does not need them."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from bench_common.config.settings import settings
from bench_common.core.run import TraceEvent
from mesocosm.core.failure import UsageError
from mesocosm.interop.files import replacing


class TraceStore:
    """The files `<episode id>.jsonl` in a directory: `root`, else ORCH_TRACE_DIR, else ./data/traces."""

    def __init__(self, root: str | Path | None = None) -> None:
        self.root = settings.trace_dir if root is None else Path(root)

    def path(self, episode_id: str) -> Path:
        """Return the file of an episode. Raises UsageError if the id is not a file name."""
        if not episode_id or Path(episode_id).name != episode_id:
            raise UsageError(f"{episode_id!r} cannot be the id of an episode: it would be a file elsewhere")
        return self.root / f"{episode_id}.jsonl"

    def append(self, event: TraceEvent) -> None:
        """Add an event to its episode's file."""
        path = self.path(event.episode_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{event.model_dump_json()}\n")

    def write(self, episode_id: str, events: Iterable[TraceEvent]) -> None:
        """Replace the file of an episode."""
        with replacing(self.path(episode_id)) as file:
            file.writelines(f"{event.model_dump_json()}\n".encode() for event in events)

    def read(self, episode_id: str) -> list[TraceEvent]:
        """Return the events of an episode in the order written; empty if there is no file."""
        path = self.path(episode_id)
        if not path.is_file():
            return []
        with path.open(encoding="utf-8") as file:
            return [TraceEvent.model_validate_json(line) for line in file if line.strip()]

    def episode_ids(self) -> Iterator[str]:
        """Yield the ids of all episodes that have a file, sorted."""
        return (path.stem for path in sorted(self.root.glob("*.jsonl")))
