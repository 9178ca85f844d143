"""Evaluating a model in an environment from Python: `bench`, and `multi_bench` where several models play together.

Both are imported here and now, because `bench` and `multi_bench` are functions and modules alike; they are light.
"""

import sys
import warnings

if sys.argv[:1] == ["-m"]:  # `python -m bench_common.inference.bench` executes a module that this package imports
    warnings.filterwarnings("ignore", r"'bench_common\.inference\.\w+' found in sys\.modules", RuntimeWarning)

from bench_common.inference.bench import BenchResult, bench
from bench_common.inference.multi_bench import MultiBenchResult, multi_bench

__all__ = ["BenchResult", "MultiBenchResult", "bench", "multi_bench"]
