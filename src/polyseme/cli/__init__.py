"""The command line: each command parses its arguments, calls the library and prints."""

import time

BEGUN = time.monotonic()
"""When the command began: a time budget counts from here, as the user's own clock does."""
