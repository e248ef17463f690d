"""Classification of tokens, as for names in a text."""

import keras
from keras import ops

from albert_tf.families import head_variables
from albert_tf.layers.base import CLASSIFIER_SITE
from albert_tf.layers.base import dropout
from albert_tf.models.labelled_outputs import checked_labels
from albert_tf.models.token_classification import TokenLabels
from albert_tf.models.xlnet.fine_tuned import FineTunedXLNet


@keras.saving.register_keras_serializable(package="albert_tf")
class XLNetForTokenClassification(TokenLabels, FineTunedXLNet):
    """XLNet with a linear classifier on each token of the content stream.

    Hugging Face's `XLNetForTokenClassification`; the official code has no such model.

    Args:
        config: an `XLNetConfig`; see `FineTunedXLNet`.
        num_labels, labels: as of `AlbertForTokenClassification`.
        classifier_dropout_prob: dropout on the vectors of tokens, in training; Hugging
            Face's model has none.
        **kwargs: how the model is computed, see `XLNetModel`.

    Call: as `XLNetModel`, without `target_positions`. Returns logits, float32 `[batch,
    tokens, num_labels]`, of all tokens, special ones and padding included.

    Raises:
        UserError: `num_labels` is not positive or not the number of `labels`, or as
            `XLNetModel`.
    """

    head_table = head_variables.dense(
        "classifier", "model/token_classification/logit", "classifier"
    )

    def __init__(
        self,
        config,
        num_labels=None,
        classifier_dropout_prob=0.1,
        labels=None,
        **kwargs,
    ):
        labels, num_labels = checked_labels(labels, num_labels)
        super().__init__(config, **kwargs)
        self.labels, self.num_labels = labels, num_labels
        self.classifier_dropout_prob = classifier_dropout_prob
        self.classifier = self._dense(num_labels, "classifier", "float32")
        self.build()

    def build(self, input_shape=None):
        self.classifier.build((None, None, self.config.d_model))

    def call(self, features, training=False, dropout_seed=None):
        seed = self._dropout_seed(training, dropout_seed)
        hidden = self.encoded(features, training, seed)["sequence_output"]
        hidden = dropout(hidden, self.classifier_dropout_prob, seed, CLASSIFIER_SITE)
        return ops.cast(self.classifier(hidden), "float32")

    def head_config(self):
        rate = {"classifier_dropout_prob": self.classifier_dropout_prob}
        return {**super().head_config(), **rate}
