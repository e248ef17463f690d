"""Multiple choice: which of several options answers a question on a text."""

import keras

from albert_tf.models.multiple_choice import ChoiceLogits
from albert_tf.models.xlnet.fine_tuned import SummaryClassifier
from albert_tf.models.xlnet.fine_tuned import summary_variables


@keras.saving.register_keras_serializable(package="albert_tf")
class XLNetForMultipleChoice(ChoiceLogits, SummaryClassifier):
    """XLNet with a score for each choice of a question.

    The model of RACE: official `get_race_loss`, `XLNetForMultipleChoice` of Hugging
    Face.

    Args:
        config: an `XLNetConfig`; see `FineTunedXLNet`.
        classifier_dropout_prob: dropout on the summary, in training.
        **kwargs: how the model is computed, see `XLNetModel`.

    Call: as `AlbertForMultipleChoice`; each row ends with the classification token.

    Raises:
        UserError: features of another number of axes.
    """

    head_table = summary_variables("logits/dense")

    def __init__(self, config, classifier_dropout_prob=0.1, **kwargs):
        super().__init__(config, 1, classifier_dropout_prob, **kwargs)
