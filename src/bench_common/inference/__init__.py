"""Evaluate a model in an environment from Python: `bench`, or `multi_bench` for several models in one environment.

Both are imported eagerly, because `bench` and `multi_bench` are both functions and modules; the imports are cheap.
"""

import sys
import warnings

if sys.argv[:1] == ["-m"]:  # `python -m bench_common.inference.bench` executes a module that this package imports
    warnings.filterwarnings("ignore", r"'bench_common\.inference\.\w+' found in sys\.modules", RuntimeWarning)

from bench_common.inference.bench import BenchResult, bench
from bench_common.inference.multi_bench import MultiBenchResult, multi_bench

__all__ = ["BenchResult", "MultiBenchResult", "bench", "multi_bench"]
