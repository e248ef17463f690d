"""Files by names, globs and folders, and their documents in several formats."""

import gzip
import itertools
import json
import os

import pytest

from albert_tf.errors import UserError
from data_pipeline.text import corpus


def read(pattern, share=0, num_shares=1, **arguments):
    reader = corpus.Reader(corpus.find_files(str(pattern)), **arguments)
    segments = [d.segments for d in reader.documents(share, num_shares)]
    return segments, reader


def names(patterns):
    return [os.path.basename(file.path) for file in corpus.find_files(patterns)]


@pytest.fixture
def text(tmp_path):
    """A folder with two texts, one of which has a link to it elsewhere."""
    folder = tmp_path / "text"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(f"In {name}")
    (tmp_path / "link.txt").symlink_to(folder / "a.txt")
    return folder


def test_overlapping_patterns_name_each_file_once(text):
    for patterns in (
        "{0}/a.txt,{0}/*.txt",
        "{0}/a.txt,{0}",
        "{0}/a.txt,{0}/b.txt,{0}/./a.txt,{0}/../text//b.txt",
        "{0},{0}/../link.txt",
    ):
        assert names(patterns.format(text)) == ["a.txt", "b.txt"]
    # Files end documents, and patterns keep their order.
    (text / "c.text").write_text("In c.text")
    segments = [[f"In {name}"] for name in ("c.text", "a.txt", "b.txt")]
    assert read(f"{text}/c*, {text}/*.txt")[0] == segments
    assert len(read(text)[0]) == 3


def test_a_folder_stands_for_those_in_it_too(text):
    (text / "more" / "deep").mkdir(parents=True)
    (text / "more" / "c.txt").write_text("In c")
    (text / "more" / "deep" / "d.txt").write_text("In d")
    (text / "more" / "deep" / "up").symlink_to(text)  # a circle
    everything = ["a.txt", "b.txt", "c.txt", "d.txt"]
    for pattern in (f"{text}", f"{text}/*", f"{text}/"):
        assert names(pattern) == everything
    assert names(f"{text}/m*") == ["c.txt", "d.txt"] + ["a.txt", "b.txt"]


def test_hidden_files_are_left_out_unless_they_are_named(text, caplog):
    (text / ".git").mkdir()
    for name in (".DS_Store", ".git/x.txt"):
        (text / name).write_bytes(b"\0\0\0\1Bud1\xff")
    (text / ".notes.txt").write_text("In notes")
    with caplog.at_level("INFO", "absl"):
        assert names(f"{text}") == names(f"{text}/*") == ["a.txt", "b.txt"]
    assert f"hidden files that are not read: {text}/.DS_Store, " in caplog.text
    assert names(f"{text}/.notes.txt") == names(f"{text}/.n*") == [".notes.txt"]


def test_brackets_in_names_that_exist_are_no_pattern(tmp_path):
    folder = tmp_path / "old[1]"
    folder.mkdir()
    for path in (folder / "a.txt", tmp_path / "b[1].txt", tmp_path / "b1.txt"):
        path.write_text("text")
    assert names(f"{tmp_path}/b[1].txt") == ["b[1].txt"]
    assert names(f"{tmp_path}/b[0-9].txt") == ["b1.txt"]
    assert names(f"{folder}") == names(f"{folder}/*.txt") == ["a.txt"]


def test_a_link_to_nothing_is_named(text):
    (text / "c.txt").symlink_to("nothing")
    with pytest.raises(UserError, match="/c.txt cannot be read: No such file"):
        names(f"{text}/*.txt")


def test_lines_and_paragraphs(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfOne.\r\nTwo. Still two.\n\n \t\n\nThree.")
    assert read(path)[0] == [["One.", "Two. Still two."], ["Three."]]
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
    # They have other names, too.
    (tmp_path / "names").mkdir()
    for name in ("a.ndjson", "b.jsonlines", "c.Json"):
        (tmp_path / "names" / name).write_bytes(b'{"text": "One. Two."}\n')
    compressed = gzip.compress(b'{"text": "One. Two."}\n')
    (tmp_path / "names" / "d.JSONL.GZ").write_bytes(compressed)
    assert read(tmp_path / "names")[0] == [["One.", "Two."]] * 4


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


def test_shares_whose_borders_are_those_of_lines(tmp_path):
    lines = [json.dumps({"text": f"Text {n}"}) + "\n" for n in range(10, 22)]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    for share in range(12):
        assert read(tmp_path, share, 12)[0] == [[f"Text {share + 10}"]]
    path = tmp_path / "a.txt"
    for text in map("".join, itertools.product("a\n", repeat=5)):
        path.write_text(text)
        expected = [part.split() for part in text.split("\n\n") if part.strip()]
        for count in (1, 2, 5):
            shares = (read(path, share, count)[0] for share in range(count))
            assert [d for share in shares for d in share] == expected, (text, count)


def test_a_long_document_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "_MAX_DOCUMENT_CHARACTERS", 10)
    (tmp_path / "a.txt").write_text("abcde\nfghij\nk\nl\n\nm\n")
    expected = [["abcde", "fghij", "k"], ["l"], ["m"]]
    assert read(tmp_path / "a.txt")[0] == expected


@pytest.mark.parametrize(
    "parts",
    [
        ["a" * 8192],
        ["a" * 8192, "a"],
        ["\U0001f600" * 2048],
        ["\U0001f600" * 2048, "\U0001f600"],
        ["a" * 8000, " ", "b" * 300],
        ["a" * 8191, "  ", "b"],
    ],
)
def test_a_long_sentence_is_cut(parts):
    """A part has 8192 bytes at most, and ends at a space if there is one."""
    reader = corpus.Reader([])
    assert reader.cut(["x", "".join(parts)]) == ["x", *filter(str.strip, parts)]
    assert sum(reader.counts.values()) == (len(parts) > 1)


def test_lone_surrogates_are_replaced_and_counted(tmp_path):
    path = tmp_path / "a.jsonl"
    texts = ["ran \ud83d away", "end \ud83d", "\ude00 one", "good \U0001f600"]
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    segments, reader = read(path)
    expected = ["ran \ufffd away", "end \ufffd", "\ufffd one", "good \U0001f600"]
    assert segments == [[text] for text in expected]
    assert reader.counts["lines with invalid UTF-8"] == 3


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("abc", 3, 3),
        ("ab cd", 4, 3),
        ("a b cd", 4, 4),
        ("a b cd", 3, 2),
        (" abcde", 3, 3),
        ("abc d", 3, 3),
        *(("a日b", limit, cut) for limit, cut in ((2, 1), (3, 1), (4, 4), (9, 5))),
    ],
)
def test_where_a_long_text_is_cut(text, limit, cut):
    assert corpus._cut_point(text.encode(), limit) == cut


def test_bytes_of_no_text_are_cut_somewhere():
    assert corpus._cut_point(b"\x80" * 9, 6) == 2


@pytest.mark.parametrize(
    ("start", "first"), [(0, 0), (1, 1), (11, 2), (12, 3), (15, 4), (16, 5)]
)
def test_lines_from_a_place(start, first, tmp_path, monkeypatch):
    """The first line is longer than allowed; blocks end within lines."""
    lines = [(0, "ab "), (3, "cd efgh"), (11, "ij"), (14, ""), (15, "k")]
    monkeypatch.setattr(corpus, "_BLOCK_BYTES", 4)
    (tmp_path / "a.txt").write_text("ab cd efgh\nij\n\nk")
    reader = corpus.Reader([])
    assert [*reader.lines(str(tmp_path / "a.txt"), start, 5)] == lines[first:]
    assert reader.bytes_read == 16 - max(0, start - 1)


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
    expected = [paragraph] if sentences is None else sentences
    assert corpus.split_sentences(paragraph) == expected


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
