"""What is known of a benchmark before anything runs."""

from typing import Any, Literal

import msgspec

from mesocosm.core.score import Metric

Malformed = Literal["pass", "ask", "fail"]
"""What becomes of a reply without a valid action: the environment gets its text, the model is asked again, it fails."""


MOST_FILES = 1000
"""Files of a benchmark whose digests a run keeps; of more than so many it keeps none."""


class BenchmarkInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a benchmark before anything runs.

    `digest` covers its content, so a change of rules or code is another benchmark. `vow` is the binding vow as JSON.
    `parallel` is how many episodes it can take at once (None: any number), `parallel_default` a number that its
    manifest names without limiting anything. A `growing` one has found all its tasks only when it is over (the items
    of a foreign program); `unscored` of its episodes have no score by design. An `offline` one asks no model: whatever
    model a run names is not opened. `card` is what its descriptor says of it: source, licence, unit, split, reference
    scores. The graders of a `judged` one may ask a model. One that `discovers` gives scores that are not declared: each
    becomes a metric of its own, undirected. `inputs` are digests of what an experiment is made of beside the model, by
    the names under which people know it: they are part of its signature, and a change of one can be named. `malformed`
    is what its environments want done with a reply without a valid action. `files` are the digests of the files that
    `digest` covers, by name: they name what has changed.
    """

    id: str
    title: str
    version: str
    digest: str
    kind: str
    metrics: tuple[Metric, ...]
    description: str = ""
    vow: dict[str, Any] = {}
    max_steps: int | None = None
    max_seconds: float | None = None
    parallel: int | None = None
    parallel_default: int | None = None
    system_prompt: str = ""
    oracle: bool = False
    growing: bool = False
    unscored: int = 0
    offline: bool = False
    card: dict[str, Any] = {}
    judged: bool = False
    discovers: bool = False
    inputs: dict[str, str] = {}
    malformed: Malformed = "ask"
    files: dict[str, str] = {}

    def document(self) -> dict[str, Any]:
        """Return what runs keep as their `info`: all but the files, which stand in their provenance."""
        found: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(self, files={}))
        return found

    def listed_files(self) -> dict[str, str]:
        """Return the files as runs keep them: names as JSON can hold them, short digests; none above MOST_FILES."""
        if len(self.files) > MOST_FILES:
            return {}
        return {name.encode(errors="backslashreplace").decode(): content[:16] for name, content in self.files.items()}
