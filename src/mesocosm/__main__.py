"""`python -m mesocosm` is the program `mesocosm`."""

from mesocosm.cli.main import main

main()
