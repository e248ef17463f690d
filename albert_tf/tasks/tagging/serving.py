"""Answers of a served model of tagging: entities of the text that is given."""

import numpy as np

from albert_tf.tasks.serving import Head
from albert_tf.tasks.serving import rows_of
from albert_tf.tasks.tagging.in_graph_entities import Entities
from albert_tf.tasks.tagging.in_graph_entities import RowFeatures
from albert_tf.tasks.tagging.schemes import PLAIN

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


class TaggingHead(Head):
    """Entities of texts of any length; logits for token ids."""

    name = "tagging"
    along = {"logits": "input_ids"}
    reads_whole = "text"
    pads_answers = True
    by_token = True

    def numbers(self, outputs):
        return {"logits": outputs}

    def text_features(self, max_seq_length):
        return RowFeatures(self.tokenizer, max_seq_length, self.task.doc_stride)

    def string_answers(self, text_features, compute):
        task = self.task
        return Entities(text_features, compute, task.labels, task.scheme, task.decoder)

    def meaning(self):
        order = ", ".join(self.task.labels)
        return {
            "logits": f"for each token a score of each tag, in the order {order}",
            **(_OF_WORDS if self.task.scheme == PLAIN else _MEANING),
        }

    def answer(self, outputs):
        """Lists the entities of the text, in order."""
        rows = rows_of(outputs, {name: name for name in _MEANING})
        return {"entities": [row for row in rows if row["label"]]}

    def outputs(self, numbers):
        return np.asarray(numbers["logits"])
