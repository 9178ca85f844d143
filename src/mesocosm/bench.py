"""`python -m mesocosm.bench …` is `mesocosm bench …`."""

import sys

from mesocosm.cli.main import main

if __name__ == "__main__":
    main(["bench", *sys.argv[1:]])
