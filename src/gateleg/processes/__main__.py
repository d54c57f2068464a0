"""`python -m gateleg.processes`: the program of child processes."""

from gateleg.processes.program import main

if __name__ == "__main__":
    main()
