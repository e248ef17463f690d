"""Sides of benchmarks that take their turns in the process of the test."""

import importlib
import json
import sys
from unittest import mock

import tensorflow as tf

from benchmarks.measuring import turns


class PlayerHere:
    """A `Player` without a process, which would import TensorFlow for six seconds."""

    def __init__(self, command):
        python, _, module, setting = command
        assert python == sys.executable
        side = importlib.import_module(module)
        with (
            mock.patch.object(turns, "serve", self._keep),
            # TensorFlow is running already, with the threads that it has.
            mock.patch.object(
                tf.config.threading, "set_intra_op_parallelism_threads", int
            ),
        ):
            side.main(json.loads(setting))

    def _keep(self, take_turn, details):
        self._take_turn, self.details = take_turn, details

    def turn(self, request=""):
        return json.loads(json.dumps(self._take_turn(request)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
