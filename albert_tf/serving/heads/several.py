"""Several fine-tuned heads on one encoder, answered in one pass."""

import numpy as np

from albert_tf.errors import UserError
from albert_tf.models.sequence_classification import AlbertForSequenceClassification
from albert_tf.serving.heads.builders import Head
from albert_tf.serving.heads.naming import named_for
from albert_tf.serving.heads.naming import outputs_of
from albert_tf.tokenization import load_tokenizer


def models_of_one_encoder(model_dirs, tasks, **execution):
    """Models to classify texts, all with one encoder, vocabulary and kind of input.

    Args:
        model_dirs: directories that run_classifier fine-tuned from one pretrained
            model with `--freeze_encoder`.
        tasks: their `Task`s by name, in the same order.
        **execution: constructor arguments of the models.

    Returns:
        `AlbertForSequenceClassification`s, in the order of the directories.

    Raises:
        UserError: encoders, vocabularies or kinds of input differ.
    """
    models = [
        task.model_class.from_pretrained(directory, **execution)
        for directory, task in zip(model_dirs, tasks.values(), strict=True)
    ]
    for directory, model in zip(model_dirs, models, strict=True):
        if not isinstance(model, AlbertForSequenceClassification):
            raise UserError(
                f"{directory} does not classify whole texts, so it cannot share its "
                "encoder; export it by itself."
            )
    for directory, model in zip(model_dirs[1:], models[1:], strict=True):
        _check_same_encoder(model_dirs[0], models[0], directory, model)
    inputs = {task.text_inputs for task in tasks.values()}
    fingerprints = {load_tokenizer(path).fingerprint() for path in model_dirs}
    if len(inputs) > 1 or len(fingerprints) > 1:
        raise UserError(
            f"{' and '.join(model_dirs)} take different inputs (a text or a pair, or "
            "another vocabulary); export them one by one."
        )
    return models


def multi_head(models, tasks):
    """A `Head` whose outputs are those of all models, named `<task>_<output>`.

    Args:
        models: what `models_of_one_encoder` returned; the first one's encoder computes.
        tasks: their `Task`s by the name that the outputs get, in the same order.
    """
    first = models[0]

    def compute(features):
        encoded = first.albert(features, training=False, heads_only=True)
        pooled = encoded["pooled_output"]  # [B, H]
        found = {}
        for (name, task), model in zip(tasks.items(), models, strict=True):
            numbers = task.served_numbers(model.classifier(pooled))
            found |= named_for(name, numbers)
        return found

    def answers(computed, features):
        found = {}
        for name, task in tasks.items():
            own = task.served_answers(outputs_of(name, computed))
            found |= named_for(name, own)
        return found

    heads = [v for model in models[1:] for v in model.classifier.variables]
    return Head(
        "multi_head",
        first.config,
        [*first.variables, *heads],
        compute,
        answers,
        _meaning(tasks),
        text_inputs=next(iter(tasks.values())).text_inputs,
    )


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


def _meaning(tasks):
    found = {}
    for name, task in tasks.items():
        own = {key: f"{name}: {text}" for key, text in task.served_meaning().items()}
        found |= named_for(name, own)
    return found
