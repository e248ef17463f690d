"""Sentence ends in English and Chinese."""

import pytest

from data_pipeline.text.formats import split_sentences


@pytest.mark.parametrize(
    ("paragraph", "sentences"),
    [
        ("One two. Three four! Five?", ["One two.", "Three four!", "Five?"]),
        ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
        ("Dr. Smith met J. Doe in the U.S. Army.", None),
        ("It cost 3.5 million, e.g. for version 2.0 alone.", None),
        ("Wait... what?", None),
        ("It ended in 1999. 2000 came.", ["It ended in 1999.", "2000 came."]),
        ("他说：“好！”然后走了。真的？", ["他说：“好！”", "然后走了。", "真的？"]),
        ("一……二；三", ["一……", "二；", "三"]),
        ("  no end  ", ["no end"]),
        ("", []),
    ],
)
def test_sentences(paragraph, sentences):
    assert split_sentences(paragraph) == (sentences or ([paragraph] * bool(paragraph)))
