"""Several fine-tuned heads on one encoder, answered in one pass."""

import numpy as np

from albert_tf.bundle import without_adapters
from albert_tf.errors import UserError
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.tasks.serving import Head


def models_of_one_encoder(bundles, tasks, **execution):
    """Loads classifiers of texts with one encoder, vocabulary and kind of input.

    Args:
        bundles: the `Bundle`s of models that run_classifier fine-tuned from one
            pretrained model with `--freeze_encoder`.
        tasks: their `Task`s by name, in the same order.
        **execution: constructor arguments of the models.

    Returns:
        `AlbertForSequenceClassification`s, in the order of the bundles.

    Raises:
        UserError: encoders, vocabularies or kinds of input differ.
    """
    models = [
        without_adapters(opened.model(task.model_class, **execution))
        for opened, task in zip(bundles, tasks.values(), strict=True)
    ]
    model_dirs = [opened.path for opened in bundles]
    for directory, model in zip(model_dirs, models, strict=True):
        if not isinstance(model, AlbertForSequenceClassification):
            raise UserError(
                f"{directory} is an {type(model).__name__} and cannot share its "
                "encoder, as an AlbertForSequenceClassification can; export it by "
                "itself."
            )
        if model.pooling is not None:
            raise UserError(
                f"{directory} classifies another vector than the pooled output (it "
                "learned from few labels); export it by itself."
            )
    for directory, model in zip(model_dirs[1:], models[1:], strict=True):
        _check_same_encoder(model_dirs[0], models[0], directory, model)
    heads = (task.head_class(None, task) for task in tasks.values())
    inputs = {head.text_inputs for head in heads}
    fingerprints = {opened.tokenizer().fingerprint() for opened in bundles}
    if len(inputs) > 1 or len(fingerprints) > 1:
        raise UserError(
            f"{' and '.join(model_dirs)} take different inputs (a text or a pair, or "
            "another vocabulary); export them one by one."
        )
    return models


class SeveralHeads(Head):
    """The outputs of several models, named `<task>_<output>`; answers by task.

    Args:
        models: the result of `models_of_one_encoder`; the first one's encoder computes.
            None where only `answer` is asked.
        tasks: their `Task`s by the name that the outputs get, in the same order; None
            for one that is not known.
        tokenizer: theirs.
    """

    name = "multi_head"

    def __init__(self, models, tasks, tokenizer=None):
        super().__init__(models and models[0], None, tokenizer)
        self.exit_rule = None  # one pass answers for all
        self._heads = {
            name: Head(model) if task is None else task.head_class(model, task)
            for (name, task), model in zip(
                tasks.items(), models or [None] * len(tasks), strict=True
            )
        }
        for further in (models or [])[1:]:
            self.variables = [*self.variables, *further.classifier.weights]

    @property
    def text_inputs(self):
        return next(iter(self._heads.values())).text_inputs

    def compute(self, features):
        encoded = self.model.albert(features, training=False, heads_only=True)
        pooled = encoded["pooled_output"]  # [B, H]
        return self._named(lambda _, head: head.numbers(head.model.classifier(pooled)))

    def answers(self, numbers, features):
        return self._named(
            lambda name, head: head.answers(_outputs_of(name, numbers), features)
        )

    def meaning(self):
        return self._named(
            lambda name, head: {
                key: f"{name}: {text}" for key, text in head.meaning().items()
            }
        )

    def answer(self, outputs):
        """Answers by name of the head."""
        return {
            name: head.answer(_outputs_of(name, outputs))
            for name, head in self._heads.items()
        }

    def _named(self, outputs_of):
        """Names the outputs of all heads; each name begins with its head's."""
        return {
            f"{name}_{key}": value
            for name, head in self._heads.items()
            for key, value in outputs_of(name, head).items()
        }


def _outputs_of(head, outputs):
    """Picks one head's outputs among several's, under its own names for them."""
    prefix = f"{head}_"
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
