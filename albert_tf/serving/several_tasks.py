"""Serves several tasks on one shared encoder in one pass."""

import dataclasses

import numpy as np

from albert_tf.bundle import without_adapters
from albert_tf.errors import UserError
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.tasks.task import Task


def models_of_one_encoder(bundles, tasks, **execution):
    """Loads classifiers of texts with one encoder, vocabulary and kind of input.

    Args:
        bundles: the `Bundle`s of models that albert-tf classify fine-tuned from one
            pretrained model with `--freeze_encoder`.
        tasks: the models' `Task`s by name, in the same order.
        **execution: constructor arguments of the models.

    Returns:
        `AlbertForSequenceClassification`s by name.

    Raises:
        UserError: encoders, vocabularies, kinds of input or what is read of long texts
            differ, or a model reads texts in windows.
    """
    models = [
        without_adapters(opened.model(task.model_class, **execution))
        for opened, task in zip(bundles, tasks.values(), strict=True)
    ]
    model_dirs = [opened.path for opened in bundles]
    for opened, model, task in zip(bundles, models, tasks.values(), strict=True):
        directory = opened.path
        is_albert = isinstance(model, AlbertForSequenceClassification)
        if not is_albert or model.pooling is not None:
            raise UserError(
                f"{directory} is an {type(model).__name__} and cannot share its "
                "encoder, as an AlbertForSequenceClassification can that classifies "
                "the pooled output; export it by itself."
            )
        if task.reads_whole:
            raise UserError(
                f"{directory} reads texts in windows and cannot share its encoder; "
                "export it by itself."
            )
    for directory, model in zip(model_dirs[1:], models[1:], strict=True):
        _check_same_encoder(model_dirs[0], models[0], directory, model)
    inputs = {(task.text_inputs, task.long_texts) for task in tasks.values()}
    fingerprints = {opened.tokenizer().fingerprint() for opened in bundles}
    if len(inputs) > 1 or len(fingerprints) > 1:
        raise UserError(
            f"{' and '.join(model_dirs)} take different inputs (a text or a pair, "
            "another part of long texts, or another vocabulary); export them one by "
            "one."
        )
    return dict(zip(tasks, models, strict=True))


class SharedEncoder:
    """Several text classifiers on one encoder, which runs once.

    Args:
        models: the result of `models_of_one_encoder`; the first model's encoder is
            used.

    Call: features. Returns logits by name.
    """

    def __init__(self, models):
        self._models = models
        first, *further = models.values()
        self.config, self._encoder = first.config, first.albert
        self.weights = list(first.weights)
        for model in further:
            self.weights += model.classifier.weights

    def __call__(self, features, training=False):
        encoded = self._encoder(features, training=training, heads_only=True)
        pooled = encoded["pooled_output"]  # [B, H]
        return {name: model.classifier(pooled) for name, model in self._models.items()}


@dataclasses.dataclass(frozen=True, kw_only=True)
class SeveralTasks(Task):
    """The outputs of several tasks, named `<task>_<output>`; answers by task.

    Attributes:
        tasks: the `Task`s by the name that prefixes their outputs.
    """

    tasks: dict

    serves = "multi_head"

    @property
    def _first(self):
        return next(iter(self.tasks.values()))

    @property
    def text_inputs(self):
        return self._first.text_inputs

    def text_features(self, tokenizer, max_seq_length):
        return self._first.text_features(tokenizer, max_seq_length)

    def numbers(self, outputs):
        return self._named(lambda name, task: task.numbers(outputs[name]))

    def answers(self, numbers, features):
        return self._named(
            lambda name, task: task.answers(_outputs_of(name, numbers), features)
        )

    def meaning(self):
        return self._named(
            lambda name, task: {
                key: f"{name}: {text}" for key, text in task.meaning().items()
            }
        )

    def answer(self, outputs):
        """Returns the answers by task name."""
        return {
            name: task.answer(_outputs_of(name, outputs))
            for name, task in self.tasks.items()
        }

    def _named(self, outputs_of):
        """Merges the outputs of all tasks; prefixes each name with its task's name."""
        return {
            f"{name}_{key}": value
            for name, task in self.tasks.items()
            for key, value in outputs_of(name, task).items()
        }


def _outputs_of(task, outputs):
    """Extracts one task's outputs, and strips the prefix from their names."""
    prefix = f"{task}_"
    return {
        name.removeprefix(prefix): value
        for name, value in outputs.items()
        if name.startswith(prefix)
    }


def _check_same_encoder(first_dir, first, directory, model):
    ours = first.albert.official_variables()
    theirs = model.albert.official_variables()
    same = ours.keys() == theirs.keys() and all(
        np.array_equal(ours[name], theirs[name]) for name in ours
    )
    if not same:
        raise UserError(
            f"{first_dir} and {directory} have different encoders; fine-tune both from "
            "one model with --freeze_encoder, or export them one by one."
        )
