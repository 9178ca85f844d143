"""`python -m benchmarks.orchestrator …`: the same as `mesocosm bench …`."""

import sys

from mesocosm.cli.main import main

main(["bench", *sys.argv[1:]])
