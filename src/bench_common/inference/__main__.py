"""`python -m bench_common.inference`."""

import sys

from bench_common.inference.bench import main

if __name__ == "__main__":
    sys.exit(main())
