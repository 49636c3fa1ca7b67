"""``python -m equirate`` is the command ``equirate``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
