"""Classification (or regression) of a text or a pair of texts."""

import keras

from albert_tf.errors import UserError
from albert_tf.models.features import named_features
from albert_tf.models.pooled_classifier import PooledClassifier
from albert_tf.models.registry import TASK_FORM


@keras.saving.register_keras_serializable(package="albert_tf")
class AlbertForSequenceClassification(PooledClassifier):
    """The encoder with a linear classifier on its pooled output.

    Official `classifier_utils.create_model`.

    Args:
        config: an `AlbertConfig`.
        num_labels: number of classes; 1 for regression. `labels` makes it optional.
        classifier_dropout_prob: dropout on the pooled output, in training.
        labels: names of the classes, one of which each text has, in the order of
            their ids; `save_pretrained` keeps them for prediction and export.
        **kwargs: `depth_loop` and `rematerialize`, see `AlbertModel`.

    Call: as `AlbertModel`. Returns logits, float32 `[batch, num_labels]`.

    Raises:
        UserError: `num_labels` is not positive or not the number of `labels`, or more
            tokens than `config.max_position_embeddings`.

    Example:
        model = AlbertForSequenceClassification.from_pretrained(path, num_labels=3)
        model.compile(
            optimizer="adam",
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
    """

    served_forms = {TASK_FORM: "albert_tf.serving.heads:task_head"}
    labels = None

    def __init__(
        self,
        config,
        num_labels=None,
        classifier_dropout_prob=0.1,
        labels=None,
        **kwargs,
    ):
        if labels is not None:
            labels = tuple(labels)
            num_labels = len(labels) if num_labels is None else num_labels
            if len(set(labels)) != num_labels:
                raise UserError(
                    f"labels must be {num_labels} different names, got "
                    f"{', '.join(map(str, labels))}."
                )
        if num_labels is None or num_labels < 1:
            raise UserError(f"num_labels must be at least 1, got {num_labels}.")
        super().__init__(config, num_labels, classifier_dropout_prob, **kwargs)
        self.num_labels = num_labels
        self.labels = labels

    def call(self, features, training=False, dropout_seed=None):
        return self.pooled_logits(named_features(features), training, dropout_seed)

    def head_config(self):
        labels = {"labels": list(self.labels)} if self.labels else {}
        return {
            "num_labels": self.num_labels,
            **super().head_config(),
            **labels,
        }

    def head_config_to_huggingface(self):
        task = (self.task_info() or {}).get("task", {})
        names = task.get("labels") or [f"LABEL_{i}" for i in range(self.num_labels)]
        labels = {name: i for i, name in enumerate(names)}
        return {
            "label2id": labels,
            "id2label": {str(i): label for label, i in labels.items()},
            **super().head_config_to_huggingface(),
        }

    def task_info(self):
        if not self.labels:
            return super().task_info()
        task = {"name": "custom", "kind": "single_label", "labels": list(self.labels)}
        return {**(super().task_info() or {}), "task": task}

    @classmethod
    def complete_arguments(cls, arguments, tensors):
        if "num_labels" in arguments or "labels" in arguments:
            return arguments
        if "output_weights" not in tensors:
            raise UserError(
                "The checkpoint has no classifier, so nothing tells how many labels "
                "the model has; give num_labels."
            )
        return {**arguments, "num_labels": len(tensors["output_weights"])}
