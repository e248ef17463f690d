"""Readers of tagged words give a file's contents, or name it in a `UserError`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.errors import UserError
from albert_tf.tasks.tagging.schemes import entities_of
from albert_tf.tasks.tagging.sentences import TagFileFlags
from albert_tf.tasks.tagging.sentences import read_tag_file

_TAGS = st.sampled_from(
    ["O", "B-A", "I-A", "E-A", "S-A", "I-B", "B-", "X", "-DOCSTART-"]
)
_WORDS = st.sampled_from(["a", "北", "\u200b", "\u3000", "-DOCSTART-", "#", '"'])
_LINES = st.lists(
    st.tuples(_WORDS, st.sampled_from([" ", "\t", "  ", "\r"]), _TAGS).map("".join)
    | st.sampled_from(["", " ", "\ufeff", "a"])
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("any")


def read_or_refused(path, skip_bad_rows=False):
    try:
        return read_tag_file(path, TagFileFlags(), skip_bad_rows=skip_bad_rows)
    except UserError as error:
        assert str(path) in str(error) and len(str(error).splitlines()) == 1
        return None


@given(lines=_LINES, skip=st.booleans())
def test_columns(folder, lines, skip):
    path = folder / "a.conll"
    path.write_bytes("\n".join(lines).encode())
    file = read_or_refused(path, skip)
    if file is None:
        return
    for sentence in file.sentences:
        rows = [file.lines[place].split() for place in sentence.source]
        assert sentence.words == [row[0] for row in rows]
        tags = [row[-1] for row in rows]
        assert sentence.in_words(sentence.entities) == entities_of(tags)
