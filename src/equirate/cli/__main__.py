"""``python -m equirate.cli`` is the command ``equirate``."""

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
