"""Answers of earlier runs, lent to a run of the same prompt and model, which need not ask for them again."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mesocosm.core.episode import SCOREABLE, EpisodeKey
from mesocosm.core.event import Kind
from mesocosm.core.ports import Context, EngineStore
from mesocosm.core.task import Task

ANSWER, EXPECTED, MESSAGES, INPUT = "answer", "expected", "messages", "input"
"""Keys of the info of an episode's last step: the answer, the right one, the conversation, the filled prompt."""
SCORES, COPIED = "agent_scores", "answer_of"
"""Keys there: further numbers of the agent, and the episode that an answer was taken over from."""
ANSWERS = "answers"
"""Key in the provenance of a run: what its answers depend on, which graders and the number of rows are not."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer of an earlier run: the info of its episode's last step."""

    episode: str
    info: Mapping[str, Any]


Earlier = Callable[[Task, int], Awaitable[StoredAnswer | None]]


class AnswerLender:
    """Lends the answers of earlier runs, by task and trial."""

    def __init__(self, store: EngineStore, runs: Sequence[str]) -> None:
        self._store = store
        self._places: dict[EpisodeKey, str] = {}
        self.taken: dict[str, int] = {}
        self._runs: dict[str, str] = {}
        for run_id in runs:
            cursor: str | None = None
            while True:
                page = store.episodes.list(run_id, cursor=cursor)
                for episode in page.items:
                    if episode.status in SCOREABLE and ANSWER in episode.terminal_info:
                        self._places.setdefault(episode.key, episode.id)
                        self._runs[episode.id] = run_id
                cursor = page.cursor
                if cursor is None:
                    break

    async def find(self, task: Task, trial: int) -> StoredAnswer | None:
        """Return the stored answer to a task in a trial, or None."""
        place = self._places.get(EpisodeKey(task.digest(), trial))
        if place is None:
            return None
        stored = await asyncio.to_thread(self._store.episodes.get, place)
        run = self._runs[place]
        self.taken[run] = self.taken.get(run, 0) + 1
        kept = {
            name: stored.terminal_info[name]
            for name in (ANSWER, MESSAGES, INPUT, SCORES)
            if name in stored.terminal_info
        }
        return StoredAnswer(str(stored.terminal_info.get(COPIED, stored.id)), kept)


async def taken_over(context: Context, earlier: Earlier) -> bool:
    """Give an earlier answer to the task of an episode, if there is one; return whether there was."""
    found = await earlier(context.task, context.trial)
    if found is None:
        return False
    context.record(Kind.LOG, {"message": f"the answer is that of episode {found.episode}; the model is not asked"})
    await context.step({**found.info, COPIED: found.episode})
    return True
