"""Classification (or regression) of a text or a pair of texts."""

import keras

from albert_tf.models.text_labels import TextLabels
from albert_tf.models.text_labels import checked_text_labels
from albert_tf.models.xlnet.fine_tuned import SummaryClassifier
from albert_tf.models.xlnet.fine_tuned import summary_variables


@keras.saving.register_keras_serializable(package="albert_tf")
class XLNetForSequenceClassification(TextLabels, SummaryClassifier):
    """XLNet with a classifier on its summary of a text.

    Official `classification_loss` and `regression_loss`.

    Args:
        config: an `XLNetConfig`; see `FineTunedXLNet`.
        num_labels, labels, label_kind: as of `AlbertForSequenceClassification`.
        classifier_dropout_prob: dropout on the summary, in training.
        **kwargs: how the model is computed, see `XLNetModel`.

    Call: as `XLNetModel`, without `target_positions`. Returns logits, float32 `[batch,
    num_labels]`.

    Raises:
        UserError: labels that do not fit each other, or as `XLNetModel`.

    Example:
        model = XLNetForSequenceClassification.from_pretrained(path, num_labels=3)
        logits = model({"input_ids": ids, "input_mask": mask, "segment_ids": segments})
    """

    head_table = summary_variables("model/classification/logit")

    def __init__(
        self,
        config,
        num_labels=None,
        classifier_dropout_prob=0.1,
        labels=None,
        label_kind=None,
        **kwargs,
    ):
        told = checked_text_labels(labels, num_labels, label_kind)
        super().__init__(config, told[1], classifier_dropout_prob, **kwargs)
        self.labels, self.num_labels, self.label_kind = told

    def call(self, features, training=False, dropout_seed=None):
        return self.logits(features, training, dropout_seed)
