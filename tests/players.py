"""Sides of benchmarks that take their turns in the process of the test."""

import importlib
import json
import os
import sys
from unittest import mock

import tensorflow as tf


class PlayerHere:
    """A `Player` without a process, which would import TensorFlow for six seconds."""

    def __init__(self, command):
        python, *_, name, setting = command
        assert python == sys.executable
        side = importlib.import_module(f"benchmarks.sides.{name}")
        with (
            # The process has its threads already, and keeps its cores.
            mock.patch.object(
                tf.config.threading, "set_intra_op_parallelism_threads", int
            ),
            mock.patch.object(os, "sched_setaffinity", mock.Mock()),
        ):
            self._take_turn, self.details = side.main(json.loads(setting))

    def turn(self, request=""):
        return json.loads(json.dumps(self._take_turn(request)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
