"""Held-out evaluation on files, which may be damaged beyond their first batch."""

from albert_tf.pretraining.data import UNREADABLE
from albert_tf.pretraining.data import unreadable


class FileEvaluator:
    """An evaluator that names the files which cannot be read.

    Args:
        evaluator: an `Evaluator`.
        files: what its data sets are read from, for the message.
    """

    def __init__(self, evaluator, files):
        self._evaluator = evaluator
        self._files = files

    def evaluate(self, dataset):
        """As `Evaluator.evaluate`.

        Raises:
            UserError: a file is damaged, or there are no rows.
        """
        try:
            return self._evaluator.evaluate(dataset)
        except UNREADABLE as error:
            raise unreadable(self._files, error) from error
