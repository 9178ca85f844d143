"""The contract of a source: core.ports.BenchmarkSource."""

from abc import abstractmethod

import msgspec
import pytest

from mesocosm.core.failure import MesocosmError
from mesocosm.core.ports import Benchmark, BenchmarkSource
from mesocosm.core.run import BenchmarkRef
from mesocosm.testing.contract.benchmark import BenchmarkContract


class SourceContract(BenchmarkContract):
    """Tests of a source, and of a benchmark that it opens."""

    unknown = "no-such-name"
    """A name that the source does not have."""

    @abstractmethod
    def source(self) -> BenchmarkSource:
        """Return what the entry point names."""

    @abstractmethod
    def ref(self) -> BenchmarkRef:
        """Return a reference to something that the source has."""

    def other(self) -> BenchmarkRef | None:
        """Return a reference to something else that it has, None if there is nothing else."""
        return None

    def benchmark(self) -> Benchmark:
        return self.source()(self.ref())

    def test_a_name_that_it_does_not_have_is_an_error(self) -> None:
        with pytest.raises(MesocosmError):
            self.source()(msgspec.structs.replace(self.ref(), source=self.unknown))

    def test_an_option_that_it_does_not_know_is_named(self) -> None:
        options = {**self.ref().options, "no_such_option": 1}
        with pytest.raises(MesocosmError, match="no_such_option"):
            self.source()(msgspec.structs.replace(self.ref(), options=options))

    def test_something_else_is_another_benchmark(self) -> None:
        other = self.other()
        if other is None:
            return
        one, two = self.benchmark().info, self.source()(other).info
        assert (one.id, one.digest) != (two.id, two.digest)
