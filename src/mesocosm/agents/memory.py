"""Technique `memory`: the last steps as a section of the prompt."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from mesocosm.agents.observation import content_of, text_of, without_images
from mesocosm.agents.technique import Params, Technique
from mesocosm.core.ports import Observation, Step

HEADING = "Recent History"
SEEN_CHARACTERS = 120
"""Maximum characters of an observation."""
_ACTION_CHARACTERS = 200
_BRIEF_CHARACTERS = 60


class MemoryParams(Params):
    """Parameters of `memory`.

    The last `window_size` steps are shown with their observation. After more than `summarize_after` steps, older ones
    are shown as one short line each; the oldest are dropped beyond `summary_characters` in total.
    """

    window_size: int = Field(default=10, ge=1)
    summarize_after: int | None = Field(default=None, ge=1)
    summary_characters: int = Field(default=1200, ge=0)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One step, in full and in brief."""

    number: int
    full: str
    brief: str


@dataclass(slots=True)
class _Track:
    """The steps of one role: its first observation, its latest steps, and older ones as far as they fit."""

    start: str
    recent: deque[_Entry] = field(default_factory=deque)
    older: deque[_Entry] = field(default_factory=deque)
    older_characters: int = 0
    taken: int = 0
    began: int = 0
    forgotten: int = 0


class Memory(Technique):
    """Remembers each role's first observation and its last steps: number, action, reward, observation."""

    id = "memory"
    parameters = MemoryParams
    params: MemoryParams

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self._tracks: dict[str, _Track] = {}

    def sections(self, observation: Observation, step: int, role: str) -> Mapping[str, str]:
        """Return the section `Recent History`."""
        track = self._tracks.get(role)
        if track is None:
            track = self._tracks[role] = _Track(_seen(observation), began=step)
        return {HEADING: "\n".join(self._lines(track))}

    async def after_step(self, action: Any, step: Step, number: int, role: str) -> None:
        """Remember one step."""
        track = self._tracks.setdefault(role, _Track("", began=number))
        act = _cut(text_of(action), _ACTION_CHARACTERS)
        full = f"Step {number}: action {act}, reward {step.reward:g}, observation {_seen(step.observation)}"
        brief = f"Step {number}: action {_cut(act, _BRIEF_CHARACTERS)}, reward {step.reward:g}"
        track.recent.append(_Entry(number, full, brief))
        track.taken += 1
        while len(track.recent) > self.params.window_size:
            self._age(track)

    def _age(self, track: _Track) -> None:
        entry = track.recent.popleft()
        track.older.append(entry)
        track.older_characters += len(entry.brief)
        while track.older_characters > self.params.summary_characters and track.older:
            oldest = track.older.popleft()
            track.older_characters -= len(oldest.brief)
            track.forgotten = oldest.number

    def _lines(self, track: _Track) -> list[str]:
        after = self.params.summarize_after
        summarized = after is not None and track.taken > after
        hidden = track.forgotten if summarized or not track.older else track.older[-1].number
        lines: list[str] = []
        if hidden:
            one = f"Step {hidden} is" if hidden == track.began else f"Steps {track.began} to {hidden} are"
            lines.append(f"({one} not shown.)")
        if track.start:
            lines.append(f"Start: observation {track.start}")
        older = (entry.brief for entry in track.older) if summarized else ()
        return [*lines, *older, *(entry.full for entry in track.recent)]


def _seen(observation: Observation) -> str:
    return _cut(str(without_images(content_of(observation))), SEEN_CHARACTERS)


def _cut(text: str, most: int) -> str:
    line = " ".join(text[: most * 4].split())
    return line if len(line) <= most and len(text) <= most * 4 else f"{line[:most]}…"
