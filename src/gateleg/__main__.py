"""`python -m gateleg` is the command line."""

from gateleg.cli import main

main()
