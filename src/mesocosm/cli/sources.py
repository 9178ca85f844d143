"""Names such as `gym:Taxi-v3` on a command line: benchmarks of sources, and what flags say of them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from mesocosm.cli.evaluating import EvaluateCall


def named_sources(words: Sequence[str]) -> list[str]:
    """Return those of `words` that name a benchmark of a source, such as `gym:Taxi-v3`."""
    if not any(":" in word for word in words):
        return []
    from mesocosm.api.experiments import installed_sources
    from mesocosm.core.registry import fold

    known = installed_sources()
    return [word for word in words if word.partition(":")[2] and fold(word.partition(":")[0]) in known]


def words_of_local(words: Sequence[str]) -> list[str]:
    """Return the words of `run local` as those of `run WHAT`, which has an option by another name."""
    split = [word.partition("=") for word in words]
    return [("--limit" if name == "--episodes" else name) + equals + value for name, equals, value in split]


def parameters_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that flags set, with the interpreter among them. Raises UsageError."""
    from mesocosm.cli.bench.flags import read_extra
    from mesocosm.cli.settings import read_parameters

    python = {"python": given["python"]} if given["python"] else {}
    return {**read_extra(given.get("extra", "")), **read_parameters(given["params"]), **python}


def calls_of(
    what: str, given: Mapping[str, Any], models: Sequence[str], call: tuple[Mapping[str, Any], Mapping[str, str]]
) -> list["EvaluateCall"]:
    """Return the call of `evaluate` for each model.

    `call` has the other arguments, and how they are written. Without models it is called with one that is never asked,
    if the benchmark asks none. Raises UsageError for a benchmark that does, or for a model that is named twice.
    """
    from mesocosm.cli.evaluating import EvaluateCall

    if len(set(models)) < len(models):
        raise UsageError("two of these models are the same; leave one out")
    shared, written = call
    agent, params = given["agent"], parameters_of(given)
    arguments = {**shared, **({"agent": agent} if agent else {}), **({"params": params} if params else {})}
    asked = models or _needing_none(what, params, agent)
    return [EvaluateCall(what, {**arguments, "model": model}, model, written) for model in asked]


def _needing_none(what: str, params: Mapping[str, Any], agent: str | None) -> tuple[str, ...]:
    """Return the model of a benchmark that asks none. Raises UsageError, which says what there is, for any other."""
    from mesocosm.api.experiments import asks_no_model
    from mesocosm.cli.reachable_models import which_model

    if not asks_no_model(what, params, agent):
        raise UsageError(which_model())
    return ("builtin/empty",)
