"""`python -m gateleg.limited_process`: calls one function; with `fork-server` and modules, forks a process for each call."""

import sys

from gateleg.limited_process.program import main, serve_forks

if __name__ == "__main__":
    if sys.argv[1:2] == ["fork-server"]:
        serve_forks(int(sys.argv[2]), sys.argv[3:])
    else:
        main()
