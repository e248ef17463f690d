"""Reading documents from files of several formats, in shares."""

import gzip
import json

import pytest

from albert_tf.errors import UserError
from data_pipeline.text import corpus


def read(pattern, share=0, num_shares=1, **arguments):
    reader = corpus.Reader(corpus.find_files(str(pattern)), **arguments)
    segments = [d.segments for d in reader.documents(share, num_shares)]
    return segments, reader


def test_lines(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfOne.\r\nTwo. Still two.\n\n \t\n\nThree.")
    assert read(path)[0] == [["One.", "Two. Still two."], ["Three."]]


def test_paragraphs(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("One. Two.\nThree.\n\n三。四！\n")
    segments, _ = read(path, input_format="paragraphs")
    assert segments == [["One.", "Two.", "Three."], ["三。", "四！"]]


def test_json_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"text": "One. Two.\n\nThree."}, {"body": "x"}, {"text": 3}]
    path.write_text("\n".join(map(json.dumps, rows)) + '\nno json\n{"text": "Four."}')
    segments, reader = read(path)
    assert segments == [["One.", "Two.", "Three."], ["Four."]]
    assert reader.counts["json lines without the text field"] == 3
    assert read(path, text_field="body")[0] == [["x"]]


@pytest.mark.parametrize(("name", "shares"), [("a.jsonl", 3), ("a.jsonl.gz", 1)])
def test_a_json_line_with_two_texts_is_an_error(tmp_path, name, shares):
    """Neither is taken, and the line is that of the file, in each share."""
    good, twice = '{"text": "Oné."}\n\nno json\n', '{"text": "Two.", "text": "Three."}'
    for text, place in ((f"{good}{twice}\n{good}", 27), (f"\ufeff{twice}", 0)):
        data = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if "gz" in name else data)
        message = f"{name}, the line at byte {place}: it sets 'text' twice in one"
        with pytest.raises(UserError, match=message):
            for share in range(shares):
                read(tmp_path / name, share, shares)


def test_every_name_of_json_lines(tmp_path):
    for name in ("a.ndjson", "b.jsonlines", "c.Json"):
        (tmp_path / name).write_bytes(b'{"text": "One. Two."}\n')
    (tmp_path / "d.JSONL.GZ").write_bytes(gzip.compress(b'{"text": "One. Two."}\n'))
    assert read(tmp_path)[0] == [["One.", "Two."]] * 4


def test_files_end_documents_and_patterns_keep_their_order(tmp_path):
    for name in ("a.txt", "b.txt", "c.text"):
        (tmp_path / name).write_text(f"In {name}")
    (tmp_path / "folder").mkdir()
    patterns = f"{tmp_path}/c*, {tmp_path}/*.txt"
    assert read(patterns)[0] == [["In c.text"], ["In a.txt"], ["In b.txt"]]
    assert len(read(tmp_path)[0]) == 3


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.txt.gz", "a.jsonl.gz"])
def test_shares_are_a_partition(tmp_path, name):
    num_shares = 50
    texts = [f"Sentence {n} " + "é" * (n % 13) for n in range(60)]
    for file in ("1", "2"):
        if "jsonl" in name:
            text = "\n".join(json.dumps({"text": t}) for t in texts)
        else:
            text = "\n\n".join(f"{t}\nsecond line\n" for t in texts)
        data = gzip.compress(text.encode()) if "gz" in name else text.encode()
        (tmp_path / f"{file}{name}").write_bytes(data)
    whole, _ = read(tmp_path)
    shares = [read(tmp_path, share, num_shares) for share in range(num_shares)]
    assert [d for segments, _ in shares for d in segments] == whole
    assert len(whole) == 120
    total = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert sum(reader.bytes_read for _, reader in shares) == total
    assert not any(reader.counts for _, reader in shares)
    reader = corpus.Reader(corpus.find_files(str(tmp_path)))
    keys = [
        [d.key for share in range(n) for d in reader.documents(share, n)]
        for n in (1, 5)
    ]
    assert keys[0] == keys[1] and len({*keys[0]}) == 120


def test_lone_surrogates_are_replaced_and_counted(tmp_path):
    path = tmp_path / "a.jsonl"
    texts = ["ran \ud83d away", "end \ud83d", "\ude00 one", "good \U0001f600"]
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    segments, reader = read(path)
    expected = ["ran \ufffd away", "end \ufffd", "\ufffd one", "good \U0001f600"]
    assert segments == [[text] for text in expected]
    assert reader.counts["lines with invalid UTF-8"] == 3


@pytest.mark.parametrize("word", ["word ", "长"])
def test_line_of_ten_megabytes_is_cut(tmp_path, word):
    path = tmp_path / "a.txt"
    repeats = 10_000_000 // len(word.encode())
    path.write_text(word * repeats + "\nlast")
    segments, reader = read(path)
    parts = [part for document in segments for part in document]
    assert max(len(part.encode()) for part in parts) <= corpus.MAX_SEGMENT_BYTES
    assert parts[-1] == "last"
    assert "".join(parts[:-1]).replace(" ", "") == word.strip() * repeats
    assert reader.counts["segments cut because they are very long"] > 0


@pytest.mark.parametrize(
    ("paragraph", "sentences"),
    [
        ("One two. Three four! Five?", ["One two.", "Three four!", "Five?"]),
        ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
        ("Dr. Smith met J. Doe in the U.S. Army.", None),
        ("It ended in 1999. 2000 came.", ["It ended in 1999.", "2000 came."]),
        ("他说：“好！”然后走了。真的？", ["他说：“好！”", "然后走了。", "真的？"]),
        ("一……二；三", ["一……", "二；", "三"]),
        ("", []),
    ],
)
def test_sentences(paragraph, sentences):
    assert corpus.split_sentences(paragraph) == (
        sentences or ([paragraph] * bool(paragraph))
    )


_COMPRESSED = gzip.compress("".join(map(str, range(1000))).encode(), mtime=0)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.gz", _COMPRESSED[:50] + b"\xff" * 60, "cannot be read: Error -3 while"),
        ("a.gz", gzip.compress("one".encode("utf-32"), mtime=0), "is UTF-32, expected"),
        ("a.txt", _COMPRESSED, "is no text but a gzip archive"),
    ],
    ids=["damaged", "UTF-32", "compressed"],
)
def test_files_that_cannot_be_read_are_named(tmp_path, name, data, reason):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=f"/{name} {reason}"):
        read(tmp_path / name)


def test_shares_whose_borders_are_those_of_lines(tmp_path):
    lines = [json.dumps({"text": f"Text {n}"}) + "\n" for n in range(10, 22)]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    for share in range(12):
        assert read(tmp_path, share, 12)[0] == [[f"Text {share + 10}"]]
