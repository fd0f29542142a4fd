"""``python -m specdec_core``: the same engine without a screen."""

import sys

from specdec_core.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
