"""`TextEmbedder`: computes, trains, compares and searches text embeddings in Python."""

import dataclasses
import itertools
import math
import os
from collections.abc import Iterable
from typing import Any
from typing import overload

import keras
import numpy as np

from albert_tf import bundle
from albert_tf import prompts as prompting
from albert_tf.answers import Found
from albert_tf.answers import Ranked
from albert_tf.bundle import loading_arguments
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.families.albert import ALBERT
from albert_tf.inference.loading import load
from albert_tf.io.near_misses import arguments_of
from albert_tf.io.near_misses import refuse_arguments
from albert_tf.models.base import seeded
from albert_tf.tasks.fitting import TaskLoss
from albert_tf.tasks.fitting import TextModel
from albert_tf.tasks.fitting import fit
from albert_tf.tasks.long_texts import LongTexts
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.prediction import require_numbers
from albert_tf.tasks.registry import read_task
from albert_tf.tasks.similarity import search
from albert_tf.tasks.similarity.reading import table_of
from albert_tf.tasks.similarity.task import Similarity
from albert_tf.tasks.similarity.task import correlations
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization.features import elements
from albert_tf.tokenization.features import list_of_texts
from albert_tf.tokenization.features import lists_of_texts

# What sentence-transformers' `encode` and MTEB take that changes no vector here.
_WITHOUT_EFFECT = (
    "convert_to_numpy",
    "convert_to_tensor",
    "device",
    "hf_split",
    "hf_subset",
    "show_progress_bar",
    "task_metadata",
)


class TextEmbedder(TextModel):
    """Embeds texts as vectors, and trains on pairs of texts.

    Args:
        pretrained: a directory or a name, as `from_pretrained` takes it; may be a
            sentence-transformers model.
        pooling, layer, normalize: see `AlbertForTextEmbedding`; by default the
            directory's settings, else the mean of the last layer, not normalized.
        max_seq_length: maximum number of tokens in a row; `long_texts` says what is
            read of a longer text. By default the length used in training, else the
            number of positions in the model.
        revision: branch, tag or commit of an "hf://" model.
        prompts, default_prompt_name, include_prompt: see `AlbertForTextEmbedding`; by
            default the directory's. New prompts come with their own default.
            `save_pretrained` keeps them.
        long_texts, doc_stride, window_pooling: the part that is read of a text longer
            than `max_seq_length`; see `LongTexts`. By default the directory's.
        **changes: config fields to override, such as `hidden_dropout_prob`.

    Attributes:
        model: the `AlbertForTextEmbedding` or `XLNetForTextEmbedding`, a Keras model.
        tokenizer: the `Tokenizer` of the model.

    Raises:
        UserError: there is no such model or tokenizer, or the model lacks the pooling,
            the layer or enough positions.

    Example:
        embedder = TextEmbedder("hf://sentence-transformers/all-MiniLM-L6-v2")
        embedder.similarity("a fine film", ["a good film", "rain"])
    """

    def __init__(
        self,
        pretrained: str | os.PathLike,
        pooling: str | None = None,
        layer: int | None = None,
        normalize: bool | None = None,
        max_seq_length: int | None = None,
        revision: str | None = None,
        prompts: dict[str, str] | None = None,
        default_prompt_name: str | None = None,
        include_prompt: bool | None = None,
        long_texts: str | None = None,
        doc_stride: int | None = None,
        window_pooling: str | None = None,
        **changes: Any,
    ) -> None:
        asked = {"pooling": pooling, "layer": layer, "normalize": normalize}
        values = prompts, default_prompt_name, include_prompt
        asked |= dict(zip(prompting.FIELDS, values, strict=True))
        arguments = {n: value for n, value in asked.items() if value is not None}
        opened = bundle.open(pretrained, revision)
        model_class = registry.model_for("similarity", opened.family or ALBERT)
        told = read_task(opened)
        own = told.settings() if isinstance(told, Similarity) else {}
        own = LongTexts.chosen(own, long_texts, doc_stride, window_pooling)
        self._long_texts = Similarity(name="custom", **own).settings()
        arguments["window_pooling"] = self._long_texts.get("window_pooling")
        known = [*loading_arguments(model_class), *arguments_of(TextEmbedder)]
        refuse_arguments("TextEmbedder", changes, known)
        with seeded(0):
            self.model, self.tokenizer = load(
                opened, model_class, **arguments, **changes
            )
        told = [self.model.task_info() or {}]
        self._max_length = self.model.config.row_length(max_seq_length or None, told)
        self._predict = OutputsPredictor(self.model, 1, self._max_length)
        self._set_task(Similarity(name="custom", **self._pooling()))

    def encode(
        self,
        texts: str | Iterable[str],
        text_pairs: str | Iterable[str] | None = None,
        batch_size: int = 32,
        dimensions: int | None = None,
        prompt_name: str | None = None,
        prompt: str | None = None,
        task_name: str | None = None,
        prompt_type: str | None = None,
        **options: Any,
    ) -> np.ndarray:
        """Computes vectors, in batches of texts of similar length.

        The prompt before each text, or before the first text of a pair, is `prompt`;
        else the model's prompt called `prompt_name`; else one that is called
        "task_name-prompt_type", `task_name` or `prompt_type`; else the default prompt.

        Args:
            texts: a str, or a list, array, column or iterator of str.
            text_pairs: second texts, each encoded in one row with the first.
            batch_size: texts per batch.
            dimensions: truncates vectors to this size, for models trained with
                `dimensions`; if the model normalizes, truncated vectors are
                normalized, too.
            prompt_name: a name of the model's prompts.
            prompt: a text; "" for no prompt. Windows of a text have none.
            task_name, prompt_type: the task and what the texts are in it, "query",
                "document" or "passage", as MTEB says.
            **options: what sentence-transformers and MTEB pass that changes no vector,
                such as `show_progress_bar`; it has no effect.

        Returns:
            Float32 `[texts, hidden]`; `[hidden]` for a single str.

        Raises:
            UserError: texts have another type or differ in number, there are more
                dimensions than the model has, the model has no such prompt or reads
                texts in windows, or vectors are not finite.
        """
        known = [*arguments_of(TextEmbedder.encode), *_WITHOUT_EFFECT]
        refuse_arguments("encode", options, known)
        likely = _likely_prompts(task_name, prompt_type)
        prompt = prompting.chosen_prompt(self.model, prompt_name, prompt, likely)
        if prompt and self._task.in_windows:
            raise UserError(
                "long_texts=windows has no prompt before each window, but "
                f"prompt={prompt!r}; leave it out, or take head_tail."
            )
        first, second = lists_of_texts(texts, text_pairs)
        if dimensions is not None and not 0 < dimensions <= self._width:
            raise UserError(
                f"dimensions={dimensions}: expected 1 to {self._width}, the model's."
            )
        if not first:
            return np.zeros((0, dimensions or self._width), np.float32)
        self._predict.batch_size = batch_size
        tokens = self._tokens([prompt + text for text in first], second, prompt)
        vectors = require_numbers(self._predict(tokens))[:, :dimensions]
        if dimensions is not None and self.model.normalize:
            vectors = search.unit(vectors)
        return vectors[0] if isinstance(texts, str) else vectors

    def _tokens(self, first, second, prompt):
        """Tokenizes texts that begin with a prompt."""
        tokens = tokenize_texts(
            first, second, self.tokenizer, self._max_length, long_texts=self._task
        )
        if self.model.include_prompt or self._task.in_windows:
            return tokens
        length = prompting.prompt_length(prompt, self.tokenizer, self._max_length)
        lengths = np.full(len(first), length, np.int32)
        return dataclasses.replace(tokens, prompt_lengths=lengths)

    def similarity(self, first: Any, second: Any) -> np.ndarray:
        """Computes the cosine of each pair of texts: float32 `[first, second]`.

        Args:
            first, second: texts, see `encode`; or vectors `[texts, hidden]`.
        """
        return search.unit(self._vectors(first)) @ search.unit(self._vectors(second)).T

    @overload
    def search(self, queries: str, corpus: Any, k: int = ...) -> list[Found]: ...

    @overload
    def search(
        self, queries: Iterable[str] | np.ndarray, corpus: Any, k: int = ...
    ) -> list[list[Found]]: ...

    def search(
        self, queries: Any, corpus: Any, k: int = 10
    ) -> list[Found] | list[list[Found]]:
        """Finds the most similar texts in a corpus by exact search.

        Texts have the model's prompts for queries and documents, or the default one.

        Args:
            queries: texts or vectors; see `similarity`.
            corpus: texts, an iterator of texts, or vectors. Texts are embedded and
                compared in blocks of a few thousand to bound memory.
            k: results per query.

        Returns:
            For each query a list of dicts, most similar first: `index`, the position
            in the corpus, and `similarity`. For a single str, just its list.

        Raises:
            UserError: k is below 1; see also `encode`.
        """
        search.check_k(k)
        vectors = self._vectors(queries, "query")
        cosines, places = search.nearest(vectors, self._blocks(corpus), k)
        found = [
            [
                {"index": int(place), "similarity": float(cosine)}
                for place, cosine in zip(*row, strict=True)
            ]
            for row in zip(places, cosines, strict=True)
        ]
        return found[0] if isinstance(queries, str) else found

    def rank(self, query: str, texts: Iterable[str], k: int = 10) -> list[Ranked]:
        """Ranks texts by their similarity to a query; see `search`.

        Returns:
            Dicts of `index`, `similarity` and `text`, most similar first.
        """
        if not isinstance(query, str):
            raise UserError(f"query must be a str, got {type(query).__name__}.")
        texts = list_of_texts("texts", texts)
        found = self.search(query, texts, k)
        return [{**answer, "text": texts[answer["index"]]} for answer in found]

    def evaluate(
        self,
        texts: Iterable[str],
        text_pairs: Iterable[str],
        scores: Iterable[float],
        batch_size: int = 32,
        prompt_name: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, float]:
        """Computes the correlation of the cosines of pairs with their scores.

        Args:
            texts, text_pairs: the first and the second texts.
            scores: a number for each pair.
            batch_size, prompt_name, prompt: see `encode`.

        Returns:
            `{"spearman", "pearson"}`.
        """
        first, second = lists_of_texts(texts, text_pairs)
        settings = {"prompt_name": prompt_name, "prompt": prompt}
        vectors = [
            self.encode(own, batch_size=batch_size, **settings)
            for own in (first, second)
        ]
        return correlations(np.array(elements("scores", scores)), np.stack(vectors, 1))

    def fit(
        self,
        pairs: Iterable,
        scores: Iterable[float] | None = None,
        loss: str | None = None,
        epochs: int = 1,
        batch_size: int = 32,
        learning_rate: float = 2e-5,
        optimizer: keras.optimizers.Optimizer | None = None,
        temperature: float = 0.05,
        symmetric: bool = False,
        dimensions: Iterable[int] = (),
        seed: int = 0,
        prompt_name: str | tuple[str, str] | None = None,
        **options: Any,
    ) -> keras.callbacks.History:
        """Trains on pairs, in batches of similar length.

        Args:
            pairs: tuples of an anchor, a positive and optionally a negative; tuples of
                two texts, with `scores`; or single texts.
            scores: the score of each pair, from 0 to 1.
            loss: see `--loss` of albert-tf similarity; by default "info_nce" for pairs,
                "cosent" for scores, "simcse" for texts.
            epochs: passes over the pairs.
            batch_size: pairs per step; the other pairs of a batch serve as negatives.
            learning_rate: AdamW's peak learning rate, reached after a tenth of the
                steps; it then decays linearly to 0.
            optimizer: a Keras optimizer to use instead of AdamW.
            temperature, symmetric, dimensions: see `Similarity`.
            seed: the seed of the shuffling.
            prompt_name: the name of the prompt before each text, or two names, of the
                anchor's and of the others'; by default the default prompt.
            **options: other arguments of `keras.Model.fit`.

        Returns:
            Keras' `History`.

        Raises:
            UserError: a text lacks its partner, scores are out of range or too few, the
                loss does not fit, the model has no such prompt, or "simcse" has no
                dropout.
            ValueError: the temperature or a dimension is not above 0.
        """
        table, loss = table_of(pairs, scores, loss)
        names = (prompt_name,) if isinstance(prompt_name, str) else prompt_name or ()
        task = Similarity(
            name="custom",
            loss=loss,
            temperature=temperature,
            symmetric=symmetric,
            dimensions=tuple(dimensions),
            prompt_names=tuple(names),
            **self._pooling(),
        )
        task.check_model(self.model.config)
        tokens = task.tokenize(table, self.tokenizer, self._max_length, table.labels)
        self._set_task(task)
        sizes = self._max_length, epochs, batch_size
        settings = *sizes, learning_rate, optimizer, seed
        return fit(self.model, tokens, TaskLoss(task), *settings, **options)

    @property
    def _width(self):
        return self.model.config.hidden_size

    def _pooling(self):
        own = {"pooling": self.model.pooling, "normalize": self.model.normalize}
        return {**own, **prompting.settings_of(self.model), **self._long_texts}

    def _vectors(self, texts, prompt_type=None):
        """Returns the vectors of texts; returns vectors unchanged."""
        if _are_vectors(texts):
            return np.asarray(texts, np.float32)
        texts = list_of_texts("texts", texts)
        return self.encode(texts, prompt_type=prompt_type)

    def _blocks(self, corpus):
        """Yields the vectors of a corpus in blocks."""
        if _are_vectors(corpus):
            yield from np.array_split(
                corpus, math.ceil(len(corpus) / search.BLOCK) or 1
            )
            return
        texts = iter([corpus] if isinstance(corpus, str) else corpus)
        while some := list(itertools.islice(texts, search.BLOCK)):
            yield self.encode(some, prompt_type="document")


def _likely_prompts(task_name, prompt_type):
    """Lists names of prompts that a task of MTEB looks for, best first."""
    kind = getattr(prompt_type, "value", prompt_type)  # MTEB's is an enumeration
    if kind is not None and kind not in prompting.OF_TYPES:
        raise UserError(
            f"prompt_type={kind!r}: expected one of {', '.join(prompting.OF_TYPES)}."
        )
    names = () if None in (task_name, kind) else (f"{task_name}-{kind}",)
    return (*names, task_name, *prompting.OF_TYPES.get(kind, ()))


def _are_vectors(values):
    return isinstance(values, np.ndarray) and values.ndim == 2
