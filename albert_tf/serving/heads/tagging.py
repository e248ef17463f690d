"""What a served model of tagging answers: entities of the text that is given."""

import dataclasses

import tensorflow as tf

from albert_tf.serving.heads.builders import Head
from albert_tf.serving.padding import in_groups
from albert_tf.serving.requests import bounded
from albert_tf.tasks.tagging.in_graph_entities import Entities
from albert_tf.tasks.tagging.in_graph_entities import RowFeatures
from albert_tf.tasks.tagging.schemes import PLAIN
from albert_tf.tasks.tagging.task import Tagging

_MEANING = {
    "entity": "each stretch of the text that is a name or the like; empty: no more",
    "label": "its type",
    "start": "its first character in the text",
    "end": "the one after its last",
    "score": "mean probability of the tags of its words",
}
_OF_WORDS = {
    **_MEANING,
    "entity": "each word of the text; empty: no more",
    "label": "its tag",
    "score": "probability of the tag",
}


class WordFeatures(tf.Module):
    """Texts to the features of their windows.

    Args:
        rows: a `RowFeatures`.

    Call: text, string `[batch]`. Returns int32 `input_ids`, `input_mask`,
    `segment_ids` `[windows, tokens]`.
    """

    example = "it is a very good one ."

    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def __call__(self, text):
        return self.rows(text).features


@dataclasses.dataclass(frozen=True)
class _FeaturesOf:
    """Makes the `WordFeatures` of a task."""

    task: Tagging

    def of(self, tokenizer, max_seq_length):
        rows = RowFeatures(tokenizer, max_seq_length, self.task.doc_stride)
        return WordFeatures(rows)


def tagging_head(model, task, tokenizer):
    """Entities of texts of any length; logits for token ids."""

    def compute(features):
        return task.served_numbers(model(features, training=False))

    def string_answers(text_features, compute):
        entities = Entities(
            text_features.rows,
            # A few windows at a time: a text may have any number of them.
            in_groups(head, compute),
            task.labels,
            task.scheme,
            task.decoder,
        )
        return bounded(entities, "text", is_padded=True)

    head = Head(
        task.serves,
        model.config,
        model.variables,
        compute,
        lambda numbers, features: task.served_answers(numbers),
        {**task.served_meaning(), **(_OF_WORDS if task.scheme == PLAIN else _MEANING)},
        text_inputs=task.text_inputs,
        along={"logits": "input_ids"},
        text_features=_FeaturesOf(task),
        string_answers=string_answers,
    )
    return head
