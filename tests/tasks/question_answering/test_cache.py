"""Rows on disk never meet settings other than those that they were made with."""

import dataclasses

import numpy as np
import pytest

from albert_tf.row_layout import CLS_LAST
from albert_tf.tasks.question_answering.questions import Paragraph
from albert_tf.tasks.question_answering.questions import Question
from albert_tf.tasks.question_answering.questions import QuestionFile
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tokenized_examples import cached_tokens

_PARAGRAPH = Paragraph("a b c d e f g h i j k", (Question("1", "who is it"),))


@pytest.mark.parametrize(
    "other",
    [{"doc_stride": 3}, {"max_query_length": 2}],
    ids=lambda fields: next(iter(fields)),
)
def test_settings_of_windows(other, letters, tmp_path):
    examples = QuestionFile("questions", (_PARAGRAPH,))
    fields = {"doc_stride": 2, "max_query_length": 4}
    for settings in (fields, {**fields, **other}, fields):
        task = create_task("squad_v1", "squad", **settings)
        made = task.tokenize(examples, letters, 12)
        found = cached_tokens(task, examples, letters, 12, tmp_path)
        np.testing.assert_array_equal(found.ids, made.ids)
        np.testing.assert_array_equal(found.starts, made.starts)
    assert len(list(tmp_path.iterdir())) == 2


def test_row_layouts(letters, tmp_path):
    examples = QuestionFile("questions", (_PARAGRAPH,))
    task = create_task("squad_v1", "squad", doc_stride=2, max_query_length=4)
    for tokenizer in (letters, letters.laid_out(CLS_LAST), letters):
        found = cached_tokens(task, examples, tokenizer, 12, tmp_path)
        # Windows are padded after their tokens in every layout.
        assert found.layout == dataclasses.replace(tokenizer.layout, pads_left=False)
    assert len(list(tmp_path.iterdir())) == 2
