"""Parameters of benchmarks: defaults, then values for all benchmarks, then values for one, each checked.

The specific overrides the general. Unknown names and values of the wrong type are errors: if a parameter were silently
ignored, the run would not be the one requested.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mesocosm.benchmarks.descriptor import Descriptor
from mesocosm.benchmarks.parameter import Parameter, check_parameter
from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.core.registry import fold, suggestion

PER_BENCHMARK = "per_benchmark"
GENERAL = {
    "temperature": Parameter(type="number", help="sampling temperature of the model", minimum=0),
    "max_tokens": Parameter(type="integer", help="tokens per reply", minimum=1),
    "top_p": Parameter(type="number", help="nucleus sampling of the model", minimum=0, maximum=1),
    "trials": Parameter(type="integer", help="repetitions of every task", minimum=1),
    "base_url": Parameter(type="text", help="base URL of an OpenAI-compatible server"),
    "reasoning_effort": Parameter(
        type="text", help="effort of reasoning models", choices=("none", "low", "medium", "high")
    ),
}
"""Parameters of the model and the run that every benchmark takes, as well as `<provider>_base_url`."""
SAMPLE_NAMES = (
    "max_examples",
    "max_tasks",
    "max_questions",
    "max_instances",
    "max_scenarios",
    "sample",
    "samples",
    "limit",
)
"""Names for the sampling parameter of every benchmark that does not itself have a parameter of that name."""


@dataclass(frozen=True, slots=True)
class BenchmarkParameters:
    """The settings of one benchmark: `parameters` are its own, with defaults; `general` those of model and run."""

    parameters: Mapping[str, Any]
    general: Mapping[str, Any]

    @property
    def effective(self) -> dict[str, Any]:
        """All settings that have a value, as they are stored with a run."""
        return {name: value for name, value in {**self.parameters, **self.general}.items() if value is not None}


def settle(
    chosen: Sequence[Descriptor], extra: Mapping[str, Any], known: Sequence[Descriptor]
) -> list[BenchmarkParameters]:
    """Return the settings of each chosen benchmark: its defaults, then the top level of `extra`, then its own part
    there.

    `known` are all benchmarks: a part for one of them that is not chosen is ignored. Raises InvalidInput that lists
    every unknown benchmark, unknown parameter and wrong value.
    """
    problems: list[Problem] = []
    own = _per_benchmark(extra, known, problems)
    shared = {name: value for name, value in extra.items() if name != PER_BENCHMARK}
    readers = [_Reader(descriptor) for descriptor in chosen]
    problems += [_unknown(name, readers) for name in shared if not any(reader.knows(name) for reader in readers)]
    settled: list[BenchmarkParameters] = []
    for reader in readers:
        for name, value in shared.items():
            if reader.knows(name):
                reader.take(name, value, name, problems)
        for name, value in own.get(reader.descriptor.id, {}).items():
            place = f"{PER_BENCHMARK}.{reader.descriptor.id}.{name}"
            if reader.knows(name):
                reader.take(name, value, place, problems)
            else:
                problems.append(Problem(place, _no_parameter(name, [reader])))
        settled.append(reader.settings())
    if problems:
        raise InvalidInput("the extra settings (--extra)", dict.fromkeys(problems))
    return settled


def _per_benchmark(
    extra: Mapping[str, Any], known: Sequence[Descriptor], problems: list[Problem]
) -> dict[str, Mapping[str, Any]]:
    given = extra.get(PER_BENCHMARK, {})
    if not isinstance(given, Mapping):
        problems.append(Problem(PER_BENCHMARK, "must be an object of benchmark ids, each with its parameters"))
        return {}
    by_name = {fold(name): descriptor for descriptor in known for name in descriptor.names}
    found: dict[str, Mapping[str, Any]] = {}
    for name, parameters in given.items():
        place = f"{PER_BENCHMARK}.{name}"
        descriptor = by_name.get(fold(str(name)))
        if descriptor is None:
            problems.append(Problem(place, f"is not a benchmark{suggestion(str(name), [one.id for one in known])}"))
        elif not isinstance(parameters, Mapping):
            problems.append(Problem(place, "must be an object of parameters"))
        else:
            found[descriptor.id] = {**found.get(descriptor.id, {}), **parameters}
    return found


def _unknown(name: str, readers: Sequence["_Reader"]) -> Problem:
    return Problem(name, _no_parameter(name, readers))


def _no_parameter(name: str, readers: Sequence["_Reader"]) -> str:
    names = sorted({parameter for reader in readers for parameter in (*reader.descriptor.parameters, *GENERAL)})
    whose = readers[0].descriptor.id if len(readers) == 1 else "the chosen benchmarks"
    hint = suggestion(name, names)
    known = "" if hint.startswith("; known") else f" (known: {', '.join(names)})"
    return f"is not a parameter of {whose}{hint}{known}"


class _Reader:
    """Reads the parameters of one benchmark."""

    def __init__(self, descriptor: Descriptor) -> None:
        self.descriptor = descriptor
        self._names = {fold(name): name for name in GENERAL}
        if descriptor.sampling:
            self._names |= {fold(name): descriptor.sampling for name in SAMPLE_NAMES}
        for name, parameter in descriptor.parameters.items():
            self._names |= {fold(alias): name for alias in (*parameter.aliases, name)}
        self._given: dict[str, Any] = {}

    def knows(self, name: str) -> bool:
        return fold(name) in self._names or fold(name).endswith("-base-url")

    def take(self, name: str, value: Any, place: str, problems: list[Problem]) -> None:
        known = self._names.get(fold(name), fold(name).replace("-", "_"))
        parameter = self.descriptor.parameters.get(known) or GENERAL.get(known) or GENERAL["base_url"]
        if value is None:
            self._given.pop(known, None)
            return
        try:
            self._given[known] = check_parameter(parameter, value)
        except UsageError as error:
            problems.append(Problem(place, str(error)))

    def settings(self) -> BenchmarkParameters:
        own = {name: self._given.get(name, parameter.usual) for name, parameter in self.descriptor.parameters.items()}
        return BenchmarkParameters(own, {name: value for name, value in self._given.items() if name not in own})
