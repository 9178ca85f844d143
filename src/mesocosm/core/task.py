"""Tasks: the problems of a benchmark."""

from typing import Any

import msgspec

from mesocosm.core.ids import digest, digest_bytes

ROW = "row"
"""Metadata key: the place of a task in its data, from 0, whichever tasks are drawn."""


class Task(msgspec.Struct, frozen=True, omit_defaults=True):
    """One problem: a seed, a dataset row, a test case.

    `id` is for display and not part of the identity. `input` is visible to the agent; `target` is gold data that only
    graders and the oracle see. `cluster` names the item that several variants derive from: variants of one item are
    not independent samples. `occurrence` distinguishes identical tasks of one benchmark. `labels` are facts by which
    results can be grouped (a category, a difficulty); like `id` they are not part of the identity. `reference` is a
    worked solution for people to compare an answer with; agents do not see it, and it is not part of the identity.

    >>> Task("first", input={"question": "1 + 1?"}, target="2", labels={"level": "easy"}).target
    '2'
    """

    id: str
    input: Any = None
    target: Any = None
    seed: int | None = None
    cluster: str | None = None
    occurrence: int = 0
    metadata: dict[str, Any] = {}
    labels: dict[str, str] = {}
    reference: Any = None

    @property
    def row(self) -> int | None:
        """The place of the task in its data, from 0, if it has one."""
        place = self.metadata.get(ROW)
        return place if isinstance(place, int) else None

    def digest(self) -> str:
        """Return the digest of the task's content: seed, input, target, occurrence; not its name or position."""
        if self.input is None and self.target is None and self.seed is not None and not self.occurrence:
            # Same bytes as the general case below, about five times faster: a plan may have 200,000 of these.
            return digest_bytes(b'{"seed":%d}' % self.seed)
        content: dict[str, Any] = {"seed": self.seed}
        if self.input is not None:
            content["input"] = self.input
        if self.target is not None:
            content["target"] = self.target
        if self.occurrence:
            content["occurrence"] = self.occurrence
        return digest(content)
