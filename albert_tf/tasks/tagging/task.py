"""The task of tagging."""

import dataclasses
import re

import numpy as np
import tensorflow as tf
from absl import logging

from albert_tf.objectives.texts import OneLabel
from albert_tf.objectives.texts import TextObjective
from albert_tf.objectives.texts import TextTerm
from albert_tf.tasks import metrics
from albert_tf.tasks.metrics import entity_scores
from albert_tf.tasks.metrics import tag_scores
from albert_tf.tasks.served_answers import rows_of
from albert_tf.tasks.tagging import results
from albert_tf.tasks.tagging import schemes
from albert_tf.tasks.tagging.in_graph_entities import Entities
from albert_tf.tasks.tagging.in_graph_entities import RowFeatures
from albert_tf.tasks.tagging.rows import TagRows
from albert_tf.tasks.tagging.rows import tokenize_sentences
from albert_tf.tasks.task import Task

PREDICTIONS = "predictions"
_TAG = re.compile(r"O|[BIES]-.+", re.DOTALL)
_NO_NAME = re.compile(r"LABEL_\d+|")
_MEANING = {
    "entity": "each stretch of the text that is a name or the like; empty: no more",
    "label": "its type",
    "start": "its first character in the text",
    "end": "the one after its last",
    "score": "mean probability of the tags of its words",
}
_MEANING_OF_WORDS = {
    **_MEANING,
    "entity": "each word of the text; empty: no more",
    "label": "its tag",
    "score": "probability of the tag",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tagging(OneLabel, Task):
    """Entities in texts, as tags of words; or plain tags such as parts of speech.

    Attributes:
        labels: the tags by id, including O unless they are plain.
        scheme: the scheme of the tags, one of `SCHEMES`; None: BIOES if the tags
            include S or E, else IOB2.
        decoder: "greedy", each word's most probable tag, or "legal", the most probable
            sequence that is legal in the scheme.
        doc_stride: tokens between the starts of consecutive windows of a long text.
        dropout_prob: dropout on the token vectors, in training.
    """

    labels: tuple
    scheme: str | None = None
    decoder: str = schemes.GREEDY
    doc_stride: int = 64
    dropout_prob: float = 0.1

    kind = "tagging"
    purpose = "token_classification"
    choices = {"scheme": schemes.SCHEMES, "decoder": schemes.DECODERS}
    tokens_class = TagRows
    row_settings = ("doc_stride",)
    by_token = True
    serves = "tagging"
    along = {"logits": "input_ids"}
    reads_whole = "text"
    pads_answers = True

    def __post_init__(self):
        labels = self.labels
        if not isinstance(labels, list | tuple) or {*map(type, labels)} != {str}:
            raise ValueError(f"the tags are {labels!r}, expected a list of texts")
        labels, is_plain = tuple(labels), self.scheme == schemes.PLAIN
        letters = {"" if is_plain else schemes.split_tag(tag)[0] for tag in labels}
        has_outside = is_plain or schemes.OUTSIDE in labels
        if not has_outside or len(set(labels)) < len(labels):
            raise ValueError(
                f"the tags are {labels}, expected O and others, no repeats"
            )
        own = schemes.BIOES if letters & {"E", "S"} else schemes.IOB2
        scheme = own if self.scheme is None else self.scheme
        if type(self.doc_stride) is not int or self.doc_stride < 1:
            raise ValueError(
                f"doc_stride is {self.doc_stride!r}, expected a positive integer"
            )
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "scheme", scheme)
        metrics = ("accuracy", "macro_f1") if is_plain else ("f1",)
        object.__setattr__(self, "metrics", metrics)
        super().__post_init__()

    def _types(self):
        return {
            schemes.type_of(tag, self.scheme)
            for tag in self.labels
            if schemes.is_entity(tag, self.scheme)
        }

    # From examples to features.

    def warn_of_unlearnable(self, file):
        """Logs the parts of a `TagFile` that the model cannot predict."""
        if not file.is_labelled:
            return
        unknown = set(file.types()) - self._types()
        if unknown:
            logging.warning(
                "%s: the model has no tag for %s; it misses these.",
                file.path,
                ", ".join(sorted(unknown)),
            )
        parts = sum(_parts_of_words(sentence) for sentence in file.sentences)
        if parts:
            logging.warning(
                "%s: entities that begin or end within a word: %d; the model learns "
                "their whole words and cannot predict the exact characters.",
                file.path,
                parts,
            )

    def tokenize(self, examples, tokenizer, max_seq_length):
        return tokenize_sentences(
            examples.sentences, tokenizer, max_seq_length, self.doc_stride
        )

    def targets(self, examples, tokens):
        """Returns int32 `[len(ids)]`: the tag id at first pieces, elsewhere -1."""
        words = self._expected(examples)
        if words is None:
            return None
        known = np.append(words, np.int32(-1))  # so that index -1 yields -1
        return known[tokens.words]

    def _expected(self, examples):
        """Returns int32 `[words of the file]`: tag ids, -1 for unknown tags."""
        if examples.sentences[0].entities is None:
            return None
        ids = {label: place for place, label in enumerate(self.labels)}
        return np.array([ids.get(tag, -1) for tag in self._tags(examples)], np.int32)

    def _tags(self, examples):
        """Lists each word's tag in a file; None for an unknown plain tag."""
        return [
            tag
            for sentence in examples.sentences
            for tag in schemes.tags_of(
                sentence.in_words(sentence.entities), len(sentence.bounds), self.scheme
            )
        ]

    # The model.

    @classmethod
    def told(cls, head):
        labels = head.get("labels") or ()
        if not labels or not all(isinstance(tag, str) for tag in labels):
            return None
        told = {"name": "custom", "labels": list(labels)}
        are_tags = [bool(_TAG.fullmatch(tag)) for tag in labels]
        if schemes.OUTSIDE in labels and all(are_tags):
            return told
        # Mixed tags, and classes without names, do not determine the task.
        if any(are_tags) or any(map(_NO_NAME.fullmatch, labels)):
            return None
        return {**told, "scheme": schemes.PLAIN}

    def model_arguments(self):
        return {
            "num_labels": len(self.labels),
            "labels": list(self.labels),
            "classifier_dropout_prob": self.dropout_prob,
        }

    def objective(self):
        return TaggingObjective(self)

    def losses(self, logits, labels):
        return super().losses(logits, tf.maximum(labels, 0))

    # Outputs: logits `[rows, tokens, labels]`.

    def interpret(self, prepared, outputs):
        """Decodes the outputs for the sentences of a file.

        Returns:
            The logits of all words, float32 `[N, labels]`; the ids of their tags, int
            `[N]`; and each sentence's list of entities, see `_found`.
        """
        sentences = prepared.examples.sentences
        ends = np.cumsum([len(sentence.bounds) for sentence in sentences])
        numbers = self.numbers(outputs)
        steps = self.steps(numbers)
        logits, has_token = prepared.tokens.of_words(numbers["logits"], int(ends[-1]))
        logits[~has_token] = schemes.scores_without_token(self.labels, self.scheme)
        log_probs = metrics.log_softmax(logits)
        probabilities = np.exp(log_probs)
        tags, entities = [], []
        for sentence, start, end in zip(sentences, [0, *ends[:-1]], ends, strict=True):
            own = schemes.best_tags(log_probs[start:end], self.labels, steps)
            chosen = np.take_along_axis(probabilities[start:end], own[:, None], 1)
            entities.append(self._found(sentence, own, chosen[:, 0]))
            tags.append(own)
        return logits, np.concatenate(tags), entities

    def _found(self, sentence, tags, probabilities):
        """Lists the (type, first character, one after the last, score) of entities.

        The score is the mean probability of the tags of the words.
        """
        entities = schemes.entities_of([self.labels[tag] for tag in tags], self.scheme)
        scores = (float(probabilities[first:end].mean()) for _, first, end in entities)
        return [
            (*entity, score)
            for entity, score in zip(
                sentence.in_characters(entities), scores, strict=True
            )
        ]

    @property
    def also_scored(self):
        entities = () if self.scheme == schemes.PLAIN else ("precision", "recall")
        return (*entities, "accuracy", "loss")

    def score(self, prepared, interpreted):
        """Computes F1, precision and recall of entities; accuracy and loss of words.

        Entities are scored overall and by type, plain tags by macro F1.
        """
        logits, tags, entities = interpreted
        expected = self._expected(prepared.examples)
        known = expected >= 0
        loss = metrics.cross_entropy(expected[known], logits[known])
        if self.scheme == schemes.PLAIN:
            found = [self.labels[tag] for tag in tags]
            return {**tag_scores(self._tags(prepared.examples), found), "loss": loss}
        gold = [sentence.entities for sentence in prepared.examples.sentences]
        found = [[own[:3] for own in row] for row in entities]
        return {
            **entity_scores(gold, found, self._types()),
            "accuracy": metrics.accuracy(expected, tags),
            "loss": loss,
        }

    def write_scored(self, output_dir, name, prepared, interpreted):
        results.write_error_page(
            output_dir / f"{name}_errors.html",
            f"{self.name}: {prepared.examples.path}",
            prepared.examples.sentences,
            interpreted[-1],
            wrong_only=self.scheme == schemes.PLAIN,
        )

    def write_predicted(self, output_dir, prefix, prepared, interpreted):
        file = prepared.examples
        suffix = ".conll" if file.form == "conll" else ".jsonl"
        results.write_predictions(
            output_dir / f"{prefix}{PREDICTIONS}{suffix}",
            file,
            interpreted[-1],
            file.scheme or self.scheme,
        )

    # Serving: entities in texts of any length; logits for token ids.

    def numbers(self, outputs):
        return {"logits": outputs}

    def steps(self, numbers):
        """Returns the addends of steps from tag to tag; see `schemes.steps`."""
        return schemes.steps(self.labels, self.scheme, self.decoder)

    def text_features(self, tokenizer, max_seq_length):
        return RowFeatures(tokenizer, max_seq_length, self.doc_stride)

    def string_answers(self, text_features, compute):
        return Entities(text_features, compute, self)

    def meaning(self):
        order = ", ".join(self.labels)
        is_plain = self.scheme == schemes.PLAIN
        return {
            "logits": f"for each token a score of each tag, in the order {order}",
            **(_MEANING_OF_WORDS if is_plain else _MEANING),
        }

    def answer(self, outputs):
        """Lists the entities in the text, in order."""
        rows = rows_of(outputs, {name: name for name in _MEANING})
        return {"entities": [row for row in rows if row["label"]]}

    def outputs(self, numbers):
        return np.asarray(numbers["logits"])


def _parts_of_words(sentence):
    """Counts the entities of a sentence that begin or end within a word."""
    whole = sentence.in_characters(sentence.in_words(sentence.entities))
    return sum(a != b for a, b in zip(whole, sentence.entities, strict=True))


class WordTerm(TextTerm):
    """Cross-entropy at the first pieces of words, a mean over the global batch.

    Labels are int32 `[batch, tokens]`, -1 for ignored tokens.
    """

    name = "tagging"
    epsilon = 1e-5  # windows of one long word may have no first piece

    def weights(self, batch):
        counts = tf.cast(batch["labels"] >= 0, tf.float32)  # [B, T]
        return counts * super().weights(batch)[:, None]


class TaggingObjective(TextObjective):
    """One `WordTerm` on the logits of an `AlbertForTokenClassification`."""

    term_class = WordTerm
