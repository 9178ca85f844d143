"""Facts about a benchmark that are known before it runs."""

from typing import Any, Literal, get_args

import msgspec

from mesocosm.core.score import Metric

Malformed = Literal["pass", "ask", "fail"]
"""Handling of a reply without a valid action: pass its text to the environment, call the model again, or fail."""


View = Literal["board", "table", "html", "image"]
"""How a benchmark wants its observations to be shown to people; models see them as they are."""
VIEWS: tuple[View, ...] = get_args(View)

MOST_FILES = 1000
"""Maximum number of file digests that a run stores; with more files it stores none."""


class BenchmarkInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """Facts about a benchmark that are known before it runs.

    `digest` covers its content, so a change of rules or code makes it another benchmark. `vow` is the binding vow as
    JSON. `parallel` is the maximum number of concurrent episodes (None: unlimited), `parallel_default` the number that
    its manifest suggests. A `growing` benchmark finds its tasks while it runs (the items of a foreign program);
    `unscored` of its episodes have no score by design. An `offline` one calls no model: the model that a run names is
    not opened. `card` is descriptive: source, licence, unit, split, reference scores. The graders of a `judged` one
    may call a model. One that `discovers` returns undeclared scores: each becomes a metric without a direction. With
    `below` these are called like a declared metric, a dot, and more.
    `inputs` are the digests of an experiment's parts other than the model, by readable name: they are part of its
    signature, so that a change can be attributed. `malformed` is how to handle a reply without a valid action. `files`
    are the digests, by name, of the files that `digest` covers; they show which file has changed. `view` is how people
    are shown its observations (None: as their content suggests). `agent` is the agent that plays it unless another one
    is named; empty for the step loop. `agent_label` is shown for it instead of its name. `max_tokens` is the limit of
    one reply and `trials` how often each task is run, where the user says none. One that needs `logprobs` asks how
    probable given texts are; the words say what else to do with a model that cannot tell.
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
    below: bool = False
    inputs: dict[str, str] = {}
    malformed: Malformed = "ask"
    files: dict[str, str] = {}
    view: View | None = None
    agent: str = ""
    agent_label: str = ""
    max_tokens: int | None = None
    logprobs: str = ""
    trials: int = 1

    def document(self) -> dict[str, Any]:
        """Return what runs store as `info`: everything except the files, which are stored in the provenance."""
        found: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(self, files={}))
        return found

    def listed_files(self) -> dict[str, str]:
        """Return the files as runs store them: names that JSON can hold, short digests; {} for more than MOST_FILES."""
        if len(self.files) > MOST_FILES:
            return {}
        return {name.encode(errors="backslashreplace").decode(): content[:16] for name, content in self.files.items()}
