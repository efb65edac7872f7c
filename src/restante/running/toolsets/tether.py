"""Becomes a program that ends when the process that started it ends, however that comes about.

Run as a script: `python tether.py PARENT COMMAND [ARGS]...`. The end of its standard input tells a program to end; on
Linux the system also kills one that does not listen.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1  # see prctl(2); it stays over an exec


def main(arguments: Sequence[str]) -> None:
    """Never returns."""
    parent, *command = arguments
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        sys.exit("Whoever wanted this program has ended.")
    try:
        os.execvp(command[0], command)  # noqa: S606 - the operator's own command
    except OSError as error:
        sys.exit(f"{command[0]} cannot be run: {error.strerror}.")


if __name__ == "__main__":
    main(sys.argv[1:])
