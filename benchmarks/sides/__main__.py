"""Starts a side of a benchmark: python -m benchmarks.sides NAME SETTING.

SETTING is a dict in JSON.
"""

import importlib
import json
import sys

from benchmarks.measuring.turns import serve

if __name__ == "__main__":
    name, setting = sys.argv[1:]
    serve(
        lambda: importlib.import_module(f"benchmarks.sides.{name}").main(
            json.loads(setting)
        )
    )
