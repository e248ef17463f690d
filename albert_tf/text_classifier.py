"""`TextClassifier`: fine-tunes a text classifier on strings in Python."""

import dataclasses
import functools
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING
from typing import Any
from typing import overload

import keras
import numpy as np

from albert_tf import bundle
from albert_tf.answers import ClassifierAnswer
from albert_tf.bundle import loading_arguments
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.io.near_misses import arguments_of
from albert_tf.io.near_misses import refuse_arguments
from albert_tf.models.base import seeded
from albert_tf.models.labels import LABEL_KINDS
from albert_tf.tasks import metrics
from albert_tf.tasks.classification.calibration import calibrate
from albert_tf.tasks.classification.calibration import check_calibrated
from albert_tf.tasks.classification.few_shot import few_shot_arguments
from albert_tf.tasks.classification.few_shot import learn_from_few
from albert_tf.tasks.classification.labels import given_names
from albert_tf.tasks.classification.labels import label_array
from albert_tf.tasks.classification.labels import label_names
from albert_tf.tasks.classification.labels import list_of_labels
from albert_tf.tasks.classification.labels import training_and_held_out
from albert_tf.tasks.classification.report import ClassificationReport
from albert_tf.tasks.classification.text_task import TextTask
from albert_tf.tasks.fitting import TaskAccuracy
from albert_tf.tasks.fitting import TaskLoss
from albert_tf.tasks.fitting import TextModel
from albert_tf.tasks.fitting import fit
from albert_tf.tasks.long_texts import LongTexts
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.prediction import depths
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.registry import read_task
from albert_tf.tasks.task import Prepared
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization.features import lists_of_texts
from albert_tf.tokenization.loading import tokenizer_for_model

if TYPE_CHECKING:
    from typing_extensions import Self

_LONGEST = 128  # default maximum number of tokens in a text
_NO_ARGUMENTS = {"self", "changes"}


class TextClassifier(TextModel):
    """A text classifier or regressor that trains and predicts on strings.

    It is an estimator of scikit-learn's kind, which `clone` and `cross_val_score` take.

    Args:
        pretrained: the model to start from: a directory or a name, as `from_pretrained`
            takes it. A fine-tuned model keeps its labels, can predict at once, and can
            be trained further.
        labels: label names in id order; by default the labels that `fit` finds, sorted.
        label_kind: "single_label" (one label per text), "multi_label" (any number of
            labels) or "regression" (a number). By default the kind that the model was
            fine-tuned for, else "single_label".
        max_length: maximum number of tokens in a text or pair; the longer text is
            truncated at its end. By default the fine-tuned model's, else 128.
        revision: branch, tag or commit of an "hf://" model.
        few_shot: whether to learn from a few texts with one label each: `fit` first
            trains the encoder contrastively on 40 pairs per text, then fits a linear
            head.
        long_texts, doc_stride, window_pooling: what is read of texts longer than
            `max_length`; see `LongTexts`. By default as the fine-tuned model reads
            them, else they are truncated.
        **changes: config fields to override, such as `hidden_dropout_prob`.

    Attributes:
        model: the `AlbertForSequenceClassification` or
            `XLNetForSequenceClassification`, a Keras model; None until `fit` has seen
            the labels.
        tokenizer: the `Tokenizer` of the model.

    Raises:
        UserError: there is no such model, it has no tokenizer, or the labels do not fit
            the kind.

    Example:
        classifier = TextClassifier("hf://albert/albert-base-v2")
        classifier.fit(["a fine film", "a bore"], ["glad", "sad"])
        classifier.predict("a fine plot")["label"]
    """

    def __init__(
        self,
        pretrained: str | os.PathLike,
        labels: Iterable[str] | None = None,
        label_kind: str | None = None,
        max_length: int | None = None,
        revision: str | None = None,
        few_shot: bool = False,
        long_texts: str | None = None,
        doc_stride: int | None = None,
        window_pooling: str | None = None,
        **changes: Any,
    ) -> None:
        given = {**locals(), **changes}
        self._arguments = {n: v for n, v in given.items() if n not in _NO_ARGUMENTS}
        known = loading_arguments(
            *(m for m in registry.models() if m.purpose == TextTask.purpose)
        )
        known += arguments_of(TextClassifier)
        refuse_arguments("TextClassifier", changes, known)
        self._opened = opened = bundle.open(pretrained, revision)
        self._directory = opened.path
        self.tokenizer = opened.tokenizer()
        self._changes = changes
        self._max_length = max_length or opened.info.get("max_seq_length")
        self._labels = None if labels is None else given_names(labels)
        if label_kind not in (None, *LABEL_KINDS):
            raise UserError(
                f"label_kind={label_kind!r}: expected one of {', '.join(LABEL_KINDS)}."
            )
        self._kind = label_kind or LABEL_KINDS[0]
        values = long_texts, doc_stride, window_pooling
        self._long_texts = LongTexts.chosen(opened.info.get("task") or {}, *values)
        self._few_shot = few_shot
        if few_shot:
            if LongTexts(**self._long_texts).in_windows:
                raise UserError(
                    "few_shot reads texts of one row, not in windows; give long_texts="
                    "'head_tail' or 'truncate', or leave few_shot out."
                )
            told = few_shot_arguments(opened, self._kind)
            self._changes = {**told, **changes}
        if labels is None and label_kind is None:
            tuned = read_task(opened)
            if isinstance(tuned, TextTask) and tuned.kind in LABEL_KINDS:
                self._build(dataclasses.replace(tuned, **self._long_texts), seed=0)

    def fit(
        self,
        texts: Iterable[str],
        labels: Iterable,
        text_pairs: Iterable[str] | None = None,
        validation_data: tuple | None = None,
        epochs: int = 3,
        batch_size: int = 16,
        learning_rate: float = 5e-5,
        optimizer: keras.optimizers.Optimizer | None = None,
        seed: int = 0,
        validation_split: float = 0.0,
        sample_weight: Iterable[float] | None = None,
        class_weight: dict[str, float] | str | None = None,
        **options: Any,
    ) -> keras.callbacks.History:
        """Trains on texts, in batches of similar length.

        Args:
            texts: a list, array, column or iterator of str.
            labels: for each text the name or number of its label, a list of them for
                "multi_label", or a number for "regression".
            text_pairs: the second texts of pairs, like `texts`.
            validation_data: (texts, labels) or (texts, labels, text_pairs) to evaluate
                on after each epoch.
            epochs: passes over the texts.
            batch_size: texts per step.
            learning_rate: AdamW's peak learning rate, reached after a tenth of the
                steps; it then decays linearly to 0.
            optimizer: a Keras optimizer to use instead of AdamW.
            seed: the seed of the new head and of the shuffling.
            validation_split: the fraction of the texts, from the end, to evaluate on
                instead of `validation_data`.
            sample_weight: the weight of each text's loss.
            class_weight: weights by label, such as `{"sad": 2.0}`, 1 for the rest; or
                "balanced", by which all labels together weigh the same.
            **options: other arguments of `keras.Model.fit`, such as `callbacks` and
                `verbose`.

        Returns:
            Keras' `History`.

        Raises:
            UserError: texts and labels differ in number or type; the model lacks a
                label, or there are fewer than two labels; the model takes single texts
                but got pairs, or the reverse; weights do not fit.
        """
        labels = list_of_labels(labels)  # consumes an iterator
        if self.model is None:
            self._build(self._task_of(labels, text_pairs is not None), seed)
        pair = self._task.pair
        if pair is None:  # other programs do not say
            pair = text_pairs is not None
        self._set_task(dataclasses.replace(self._task, pair=pair))
        data = self._examples(texts, labels, text_pairs)
        data, held_out = training_and_held_out(
            self._task, data, validation_split, sample_weight, class_weight
        )
        if validation_data is not None:
            if held_out is not None:
                raise UserError("Give either validation_data or validation_split.")
            held_out = self._examples(*validation_data)
        # Thresholds are of the probabilities before.
        self._set_task(dataclasses.replace(self._task, thresholds=()))
        settings = {
            "max_length": self._max_length,
            "epochs": epochs,
            "batch_size": batch_size,
            "learning_rate": learning_rate,
            "optimizer": optimizer,
            "seed": seed,
        }
        # An option that repeats a setting, such as max_length, is a TypeError.
        if self._few_shot:
            if held_out is not None:
                raise UserError("few_shot takes no validation data; call evaluate.")
            return learn_from_few(self.model, data, **settings, **options)
        settings["metrics"] = (
            [TaskAccuracy(self._task)] if self._task.has_accuracy else []
        )
        settings["held_out"] = held_out
        return fit(self.model, data, TaskLoss(self._task), **settings, **options)

    def calibrate(
        self,
        texts: Iterable[str],
        labels: Iterable,
        text_pairs: Iterable[str] | None = None,
        batch_size: int = 32,
    ) -> dict[str, float]:
        """Calibrates the probabilities, as `albert-tf classify --calibrate` does.

        The arguments are those of `fit`; the texts should be others than those. A
        temperature goes into the head's weights; each of several labels gets the
        threshold of its highest F1.

        Returns:
            A dict of the temperature, and of the expected calibration error on the
            texts, before and after.

        Raises:
            UserError: the data is invalid, as in `fit`, or the model is untrained or
                predicts numbers.
        """
        self._check_trained()
        check_calibrated(self.model, self._task)
        data, outputs = self._outputs(texts, labels, text_pairs, batch_size)
        task, facts = calibrate(self.model, self._task, data.labels, outputs)
        self._set_task(task)
        return facts

    def evaluate(
        self,
        texts: Iterable[str],
        labels: Iterable,
        text_pairs: Iterable[str] | None = None,
        batch_size: int = 32,
    ) -> dict[str, float]:
        """Evaluates the model, as `albert-tf classify --do_eval` does.

        The arguments are those of `fit`. Returns a dict of float by metric: the loss;
        accuracy, F1, AUC and calibration error for labels, or correlations for
        regression; `exit_…` for a model with an exit rule.

        Raises:
            UserError: the data is invalid, as in `fit`, or the model is untrained.
        """
        applied = self._applied(texts, labels, text_pairs, batch_size)
        prepared, outputs, early = applied
        return {**self._task.score(prepared, outputs), **early}

    def score(
        self,
        texts: Iterable[str],
        labels: Iterable,
        text_pairs: Iterable[str] | None = None,
        batch_size: int = 32,
    ) -> float:
        """Computes scikit-learn's default score: accuracy; of numbers R squared.

        Several labels of a text are right if all are. The arguments are those of `fit`.
        """
        applied = self._applied(texts, labels, text_pairs, batch_size)
        prepared, outputs, _ = applied
        metric = metrics.accuracy if self._task.labels else metrics.r_squared
        return metric(prepared.tokens.labels, self._task.predictions(outputs))

    def report(
        self,
        texts: Iterable[str],
        labels: Iterable,
        text_pairs: Iterable[str] | None = None,
        batch_size: int = 32,
    ) -> ClassificationReport:
        """Computes precision, recall, F1 and confusions of each label.

        The arguments are those of `fit`. Print the result, or `save` it.

        Raises:
            UserError: the data is invalid, as in `fit`, the model is untrained, or it
                predicts numbers.
        """
        self._check_labelled("report")
        applied = self._applied(texts, labels, text_pairs, batch_size)
        prepared, outputs, _ = applied
        task, numbers = self._task, prepared.tokens.labels
        predictions = task.predictions(outputs)
        confusion, scores = task.confusion(numbers, predictions)
        accuracy = metrics.accuracy(numbers, predictions)
        classes = dict(zip(task.labels, scores, strict=True))
        return ClassificationReport(accuracy, classes, confusion)

    def _outputs(self, texts, labels, text_pairs, batch_size):
        """Returns the examples, and the model's outputs of them."""
        data = self._examples(texts, labels, text_pairs)
        return data, OutputsPredictor(self.model, batch_size, self._max_length)(data)

    def _applied(self, texts, labels, text_pairs, batch_size):
        """Returns what `Task.score` takes, and the scores of early exits."""
        self._check_trained()
        data, outputs = self._outputs(texts, labels, text_pairs, batch_size)
        prepared = Prepared(None, data)
        full, early = depths(self._task, prepared, outputs, self.model)
        return prepared, self._task.interpret(prepared, full), early

    @overload
    def predict(  # type: ignore[overload-overlap]  # a str is an iterable of str
        self, texts: str, text_pairs: str | None = None, batch_size: int = ...
    ) -> ClassifierAnswer: ...

    @overload
    def predict(
        self,
        texts: Iterable[str],
        text_pairs: Iterable[str] | None = None,
        batch_size: int = ...,
    ) -> list[ClassifierAnswer]: ...

    def predict(
        self,
        texts: str | Iterable[str],
        text_pairs: str | Iterable[str] | None = None,
        batch_size: int = 32,
    ) -> ClassifierAnswer | list[ClassifierAnswer]:
        """Predicts as `Predictor` does: a dict for a str, a list of dicts for a list.

        Raises:
            UserError: the texts are invalid, as in `Predictor`, or the model is
                untrained.
        """
        self._check_trained()
        return self._predictor(texts, text_pair=text_pairs, batch_size=batch_size)

    def predict_proba(
        self,
        texts: Iterable[str],
        text_pairs: Iterable[str] | None = None,
        batch_size: int = 32,
    ) -> np.ndarray:
        """Computes probabilities: float32 `[texts, labels]`, labels as in `classes_`.

        Raises:
            UserError: the texts are invalid, or the model is untrained or predicts
                numbers.
        """
        self._check_labelled("predict_proba")
        found = self._predictor.arrays(
            texts, text_pair=text_pairs, batch_size=batch_size
        )
        return found["probabilities"]

    @property
    def classes_(self) -> np.ndarray:
        """The names of the labels in the order of their ids.

        Raises:
            AttributeError: the model is untrained, or predicts numbers.
        """
        if self.model is None or not self._task.labels:
            raise AttributeError("There are no classes_ before fit, or of numbers.")
        return np.array(self._task.labels)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns the arguments of the constructor, as scikit-learn's estimators do."""
        return dict(self._arguments)

    def set_params(self, **arguments: Any) -> "Self":
        """Changes arguments of the constructor, and forgets what was learned."""
        if arguments:
            changed = {**self._arguments, **arguments}
            other = type(self)(**changed)
            vars(self).clear()
            vars(self).update(vars(other))
        return self

    def __reduce_ex__(self, protocol):
        if self.model is None:  # a worker of scikit-learn opens the folder again
            return functools.partial(type(self), **self._arguments), ()
        return super().__reduce_ex__(protocol)

    def __sklearn_is_fitted__(self):
        return self.model is not None

    def __sklearn_tags__(self):
        # Only scikit-learn calls this.
        from sklearn.utils import ClassifierTags
        from sklearn.utils import RegressorTags
        from sklearn.utils import Tags
        from sklearn.utils import TargetTags

        kind = self._kind if self._task is None else self._task.kind
        several = kind == "multi_label"
        target = TargetTags(required=True, multi_output=several)
        if not TextTask.kinds[kind].fewest_labels:
            return Tags("regressor", target, regressor_tags=RegressorTags())
        own = ClassifierTags(multi_label=several)
        return Tags("classifier", target, classifier_tags=own)

    @functools.cached_property
    def _predictor(self):
        # Imported here so that training starts sooner, without the serving code.
        from albert_tf.serving.predictor import Predictor

        return Predictor(self.model, self.tokenizer)

    def _check_trained(self):
        if self.model is None:
            raise UserError(
                f"{self._directory} was not fine-tuned for labels; call fit first."
            )

    def _check_labelled(self, method):
        self._check_trained()
        if not self._task.labels:
            raise UserError(
                f"{method} is for labels, but the model predicts numbers; see predict "
                "and score."
            )

    def _build(self, task, seed):
        arguments = {**task.model_arguments(), **self._changes}
        family = self._opened.family
        model_class = task.model_classes().get(family, task.model_class)
        with seeded(seed):
            model = self._opened.model(model_class, **arguments)
        self.tokenizer = tokenizer_for_model(
            self.tokenizer, model.config, self._directory
        )
        if self._max_length is None:
            self._max_length = model.config.longest_row(_LONGEST)
        model.config.check_row("max_length", self._max_length)
        self.model, self._opened = model, None  # frees the copied weights
        self._set_task(task)

    def _set_task(self, task):
        super()._set_task(task)
        self.__dict__.pop("_predictor", None)  # it has the previous task

    def _task_of(self, labels, pair):
        """Makes the task for the labels, for single texts or pairs."""
        kind, names = TextTask.kinds[self._kind], self._labels
        if kind.fewest_labels and names is None:
            names = label_names(kind, labels)
        elif names and not kind.fewest_labels:
            raise UserError(f"label_kind={self._kind!r} has no labels; leave them out.")
        fields = {"labels": names or (), "pair": pair, **self._long_texts}
        return create_task(self._kind, "custom", **fields)

    def _examples(self, texts, labels, text_pairs=None):
        """Returns the labelled `TokenizedExamples`."""
        texts, pairs = lists_of_texts(texts, text_pairs)
        labels = list_of_labels(labels)
        if len(labels) != len(texts) or not texts:
            raise UserError(
                f"Give one label for each text; got {len(labels)} for {len(texts)}."
            )
        if self._task.pair not in (None, pairs is not None):
            takes = "pairs of texts" if self._task.pair else "single texts"
            raise UserError(f"The model has learned from {takes}; give it the same.")
        labels = label_array(self._task, labels)
        settings = self.tokenizer, self._max_length, labels, self._task
        return tokenize_texts(texts, pairs, *settings)
