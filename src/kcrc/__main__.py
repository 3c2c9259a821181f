"""``python -m kcrc`` is the command ``kcrc``."""

import sys

from kcrc.cli import main

if __name__ == "__main__":
    sys.exit(main())
