"""`Reranker`: orders texts by how well they answer a query, in Python."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from albert_tf import bundle
from albert_tf.answers import Reranked
from albert_tf.errors import UserError
from albert_tf.families.albert import ALBERT
from albert_tf.families.registry import model_for
from albert_tf.inference.loading import load
from albert_tf.tasks.classification.text_task import TextTask
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.prediction import require_numbers
from albert_tf.tasks.registry import read_task
from albert_tf.tasks.similarity.search import check_k
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization.features import lists_of_texts


class Reranker:
    """Scores pairs of a query and a text with one model that reads both.

    Args:
        pretrained: a directory or a name, as `from_pretrained` takes it: a model of
            `albert-tf rank`, a `CrossEncoder` of sentence-transformers, or another
            classifier or regressor of pairs with one output.
        max_seq_length: maximum number of tokens in a row; by default the length used in
            training, else the model's positions.
        revision: branch, tag or commit of an "hf://" model.

    Attributes:
        model: the classifier, a Keras model.
        tokenizer: its `Tokenizer`.

    Raises:
        UserError: there is no such model, it has several outputs, or has learned from
            single texts.

    Example:
        reranker = Reranker("hf://cross-encoder/ms-marco-MiniLM-L6-v2")
        reranker.rank("which film?", ["rain", "a fine film"], k=1)[0]["text"]
    """

    def __init__(
        self,
        pretrained: str | os.PathLike,
        max_seq_length: int | None = None,
        revision: str | None = None,
    ) -> None:
        opened = bundle.open(pretrained, revision)
        purpose, family = TextTask.purpose, opened.family or ALBERT
        self.model, self.tokenizer = load(opened, model_for(purpose, family))
        if self.model.num_labels != 1:
            raise UserError(
                f"{opened.path} has {self.model.num_labels} outputs; a reranker has "
                "one: train one with albert-tf rank."
            )
        infos = [self.model.task_info() or {}]
        self._max_length = self.model.config.row_length(max_seq_length or None, infos)
        task = read_task(opened)
        self._long_texts = task if isinstance(task, TextTask) else None
        if self._long_texts is not None and task.pair is False:
            raise UserError(
                f"{opened.path} has learned from single texts, but a reranker reads a "
                "query and a text: train one with albert-tf rank."
            )
        self._predict = OutputsPredictor(self.model, 1, self._max_length)

    def predict(
        self,
        queries: str | Iterable[str],
        texts: str | Iterable[str],
        batch_size: int = 32,
    ) -> np.ndarray:
        """Scores each query with the text in the same place.

        Args:
            queries, texts: two str, or two lists, arrays or iterators of str.
            batch_size: rows per batch.

        Returns:
            Float32 `[rows]`: from 0 to 1, but of a regressor, such as a `CrossEncoder`
            without an activation, any number.

        Raises:
            UserError: the texts are not str, or differ in number.
        """
        first, second = lists_of_texts(queries, texts)
        if not first:
            return np.zeros(0, np.float32)
        tokens = tokenize_texts(
            first,
            second,
            self.tokenizer,
            self._max_length,
            long_texts=self._long_texts,
        )
        self._predict.batch_size = batch_size
        scores = require_numbers(self._predict(tokens))[:, 0]
        is_share = self.model.label_kind == "multi_label"
        return TextTask.sigmoid(scores) if is_share else scores

    def rank(
        self, query: str, texts: Iterable[str], k: int | None = None, **options: Any
    ) -> list[Reranked]:
        """Ranks texts by their scores for a query.

        Args:
            query: a str.
            texts: a list, array or iterator of str.
            k: the number of texts to return; by default all.
            **options: `batch_size`.

        Returns:
            Dicts of `index`, `score` and `text`, best first; equal scores keep the
            order of the texts.

        Raises:
            UserError: k is below 1; see also `predict`.
        """
        if k is not None:
            check_k(k)
        texts = lists_of_texts(texts)[0]
        scores = self.predict([query] * len(texts), texts, **options)
        order = np.argsort(-scores, kind="stable")[:k]
        return [
            {"index": int(i), "score": float(scores[i]), "text": texts[i]}
            for i in order
        ]
