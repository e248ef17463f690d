"""Classification of tokens, as for names in a text."""

import re

import keras

from albert_tf.families import head_variables
from albert_tf.models.features import named_features
from albert_tf.models.labelled_outputs import LabelledOutputs
from albert_tf.models.labelled_outputs import checked_labels
from albert_tf.models.linear_classifier import LinearClassifier

_TAG = re.compile(r"O|[BIES]-.+", re.DOTALL)
_NO_NAME = re.compile(r"LABEL_\d+|")


class TokenLabels(LabelledOutputs):
    """`LabelledOutputs` for each token, whose labels may tell a task of tagging."""

    @classmethod
    def told_task(cls, head):
        labels = head.get("labels") or ()
        if not labels or not all(isinstance(tag, str) for tag in labels):
            return None
        task = {"name": "custom", "kind": "tagging", "labels": list(labels)}
        are_tags = [bool(_TAG.fullmatch(tag)) for tag in labels]
        if "O" in labels and all(are_tags):
            return task
        # A mixture, and classes without names, tell no task.
        if any(are_tags) or any(map(_NO_NAME.fullmatch, labels)):
            return None
        return {**task, "scheme": "plain"}


@keras.saving.register_keras_serializable(package="albert_tf")
class AlbertForTokenClassification(TokenLabels, LinearClassifier):
    """The encoder with a linear classifier on each token.

    Hugging Face's `AlbertForTokenClassification`; the official code has no such model.

    Args:
        config: an `AlbertConfig`.
        num_labels: number of classes. `labels` makes it optional.
        classifier_dropout_prob: dropout on the vectors of tokens, in training.
        labels: names of the classes in the order of their ids. For prediction and
            export, `save_pretrained` keeps the meaning of tags such as "O", "B-PER" and
            "I-PER" (IOB or BIOES), and of plain ones such as "NOUN".
        **kwargs: how the model is computed, see `AlbertModel`.

    Call: as `AlbertModel`. Returns logits, float32 `[batch, tokens, num_labels]`, of
    all tokens, special ones and padding included.

    Raises:
        UserError: `num_labels` is not positive or not the number of `labels`, or more
            tokens than `config.max_position_embeddings`.

    Example:
        tags = ["O", "B-PER", "I-PER"]
        model = AlbertForTokenClassification.from_pretrained(path, labels=tags)
        logits = model(tokenizer("Ada Lovelace was here."))  # [1, tokens, 3]
    """

    head_table = head_variables.classification(
        "classifier", "classifier", "cls/tagging/"
    )
    classified = "sequence_output"
    # Hugging Face's model has no pooler.
    unused_variables = ("bert/pooler",)

    def __init__(
        self,
        config,
        num_labels=None,
        classifier_dropout_prob=0.1,
        labels=None,
        **kwargs,
    ):
        labels, num_labels = checked_labels(labels, num_labels)
        super().__init__(config, num_labels, classifier_dropout_prob, **kwargs)
        self.num_labels = num_labels
        self.labels = labels

    def call(self, features, training=False, dropout_seed=None):
        return self.logits(named_features(features), training, dropout_seed)
