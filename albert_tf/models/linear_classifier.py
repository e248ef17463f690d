"""The base of models with a linear layer on an output of the encoder."""

from albert_tf.families import head_variables
from albert_tf.families.albert import ALBERT
from albert_tf.layers.classification_head import ClassificationHead
from albert_tf.layers.dropout import CLASSIFIER_SITE
from albert_tf.layers.dropout import dropout
from albert_tf.models.albert import AlbertModel
from albert_tf.models.base import PretrainedModel

# The official classifiers ignore the config's initializer_range.
_HEAD_INITIALIZER_RANGE = 0.02
_HUGGINGFACE_DROPOUT = "classifier_dropout_prob"


class LinearClassifier(PretrainedModel):
    """The encoder, dropout on one of its outputs, and a linear layer.

    Args:
        config: an `AlbertConfig`.
        num_outputs: width of the linear layer.
        classifier_dropout_prob: dropout on that output, in training.
        **kwargs: how the model is computed, see `AlbertModel`.
    """

    family = ALBERT
    head_table = head_variables.classification("classifier", "classifier")
    # What of the encoder is classified: "pooled_output", or "sequence_output".
    classified = "pooled_output"

    def __init__(self, config, num_outputs, classifier_dropout_prob, **kwargs):
        super().__init__(config, **kwargs)
        self.classifier_dropout_prob = classifier_dropout_prob
        self.albert = AlbertModel(
            config, dtype=self.dtype_policy, name="albert", **self.execution
        )
        self.classifier = ClassificationHead(
            config,
            num_labels=num_outputs,
            initializer_range=_HEAD_INITIALIZER_RANGE,
            dtype=self.dtype_policy,
            name="classifier",
        )
        self.build()

    def build(self, input_shape=None):
        self.classifier.build((None, self.config.hidden_size))

    def logits(self, features, training, dropout_seed):
        """Computes logits of features `[rows, tokens]`.

        Returns:
            float32 `[rows, num_outputs]`, or of the sequence output
            `[rows, tokens, num_outputs]`.
        """
        seed = self._dropout_seed(training, dropout_seed)
        encoded = self.albert(
            features,
            training=training,
            dropout_seed=seed,
            heads_only=self.classified == "pooled_output",
        )
        kept = dropout(
            encoded[self.classified],
            self.classifier_dropout_prob,
            seed,
            CLASSIFIER_SITE,
        )
        return self.classifier(kept)

    def head_config(self):
        return {"classifier_dropout_prob": self.classifier_dropout_prob}

    def head_config_to_huggingface(self):
        return {_HUGGINGFACE_DROPOUT: self.classifier_dropout_prob}

    @classmethod
    def head_config_from_huggingface(cls, entries):
        probability = entries.get(_HUGGINGFACE_DROPOUT)
        return {} if probability is None else {"classifier_dropout_prob": probability}
