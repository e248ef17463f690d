"""`python -m albert_tf.tpu_check`: compiles a pretraining step for a TPU.

The command uses private interfaces of the TPU's compiler, so it is a tool of the
project's checkout and no part of what is installed: `tools/tpu/check.py`.
"""

import sys


def main():
    """Runs the tool, or says where it is to be had."""
    try:
        from tools.tpu.check import main as check
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("tools"):
            raise
        sys.exit(
            "error: The installed package lacks tpu_check; run it in a checkout of the "
            "project."
        )
    check()


if __name__ == "__main__":
    main()
