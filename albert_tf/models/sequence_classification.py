"""Classification (or regression) of a text or a pair of texts."""

import keras

from albert_tf.checkpoints.albert import ALBERT
from albert_tf.errors import UserError
from albert_tf.layers.classification_head import ClassificationHead
from albert_tf.layers.dropout import CLASSIFIER_SITE
from albert_tf.layers.dropout import dropout
from albert_tf.models import head_variables
from albert_tf.models.albert import AlbertModel
from albert_tf.models.base import PretrainedModel
from albert_tf.models.features import named_features
from albert_tf.models.registry import TASK_FORM

# The official classifiers ignore the config's initializer_range.
_HEAD_INITIALIZER_RANGE = 0.02


@keras.saving.register_keras_serializable(package="albert_tf")
class AlbertForSequenceClassification(PretrainedModel):
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

    family = ALBERT
    head_table = head_variables.classification("classifier", "classifier")
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
        super().__init__(config, **kwargs)
        if labels is not None:
            self.labels = labels = tuple(labels)
            num_labels = len(labels) if num_labels is None else num_labels
            if len(set(labels)) != num_labels:
                raise UserError(
                    f"labels must be {num_labels} different names, got "
                    f"{', '.join(map(str, labels))}."
                )
        if num_labels is None or num_labels < 1:
            raise UserError(f"num_labels must be at least 1, got {num_labels}.")
        self.num_labels = num_labels
        self.classifier_dropout_prob = classifier_dropout_prob
        self.albert = AlbertModel(
            config, dtype=self.dtype_policy, name="albert", **self.execution
        )
        self.classifier = ClassificationHead(
            config,
            num_labels=num_labels,
            initializer_range=_HEAD_INITIALIZER_RANGE,
            dtype=self.dtype_policy,
            name="classifier",
        )
        self.build()

    def build(self, input_shape=None):
        self.classifier.build((None, self.config.hidden_size))

    def call(self, features, training=False, dropout_seed=None):
        features = named_features(features)
        seed = self._dropout_seed(training, dropout_seed)
        encoded = self.albert(
            features, training=training, dropout_seed=seed, heads_only=True
        )
        pooled = dropout(
            encoded["pooled_output"],
            self.classifier_dropout_prob,
            seed,
            CLASSIFIER_SITE,
        )
        return self.classifier(pooled)

    def head_config(self):
        labels = {"labels": list(self.labels)} if self.labels else {}
        return {
            "num_labels": self.num_labels,
            "classifier_dropout_prob": self.classifier_dropout_prob,
            **labels,
        }

    def head_config_to_huggingface(self):
        task = (self.task_info() or {}).get("task", {})
        names = task.get("labels") or [f"LABEL_{i}" for i in range(self.num_labels)]
        labels = {name: i for i, name in enumerate(names)}
        return {
            "label2id": labels,
            "id2label": {str(i): label for label, i in labels.items()},
            "classifier_dropout_prob": self.classifier_dropout_prob,
        }

    @classmethod
    def head_config_from_huggingface(cls, entries):
        probability = entries.get("classifier_dropout_prob")
        return {} if probability is None else {"classifier_dropout_prob": probability}

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
            raise UserError("The checkpoint has no classifier: give num_labels.")
        return {**arguments, "num_labels": len(tensors["output_weights"])}
