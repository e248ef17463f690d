"""One table becomes train, dev and test: `--data_file`."""

import contextlib
import hashlib
import json
import random
import shutil
import types

import numpy as np
import pytest

from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.io.table_rows import read_rows
from albert_tf.tasks.classification import run
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.splitting import SplitFlags
from albert_tf.tasks.splitting import check_same_split
from tests.tasks.conftest import APPLIED
from tests.tasks.conftest import FINISHED
from tests.tasks.conftest import written_flags

_ROWS = [(f"film number {i}", "yes" if i % 5 == 0 else "no") for i in range(200)]


def table(path, rows, header=("sentence", "label"), delimiter=","):
    lines = [delimiter.join(map(str, row)) for row in (header, *rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def parts(tmp_path):
    """Reads the parts of a table by role; a list of rows is written as one first."""

    def read(rows=_ROWS, header=("sentence", "label"), **flags):
        is_list = isinstance(rows, list)
        path = table(tmp_path / "messages.csv", rows, header) if is_list else rows
        values = {"data_file": path, "output_dir": "out", **flags}
        argv = ["run", "--do_train", "--do_eval", *written_flags(values)]
        options = parse(ClassifierOptions, argv)
        run.check_flags(options)
        return run.read_tables(options.completed(), None, predict=True)[1]

    return read


def texts(parts):
    return {role: set(own.texts) for role, own in parts.items()}


def test_every_label_has_its_share_of_every_part(parts):
    found = parts(dev_fraction=0.2)
    shares = {role: np.bincount(own.labels).tolist() for role, own in found.items()}
    assert shares == {"train": [112, 28], "dev": [32, 8], "test": [16, 4]}
    assert sum(map(len, texts(found).values())) == 200
    assert [len(own) for own in parts(test_fraction=0).values()] == [180, 20]
    for own in found.values():
        assert [f"film number {row}" for row in own.rows] == own.texts
        assert (np.diff(own.rows) > 0).all()
    # More rows of one label leave the shares of the others.
    more = [(f"{i} more", "new") for i in range(1000)]
    for own in parts([*_ROWS, *more]).values():
        shares = np.bincount(own.labels) / len(own)
        assert shares == pytest.approx([5 / 6, 4 / 30, 1 / 30], abs=0.01)


def test_the_hashes_of_the_texts_decide(parts):
    rows = [(f"Film  {i}", f"No {i}", "few" if i < 3 else "many") for i in range(13)]
    header = ("sentence", "other", "label")
    shares = {"dev_fraction": 0.3, "test_fraction": 0.2}
    found = parts(rows, header, text_pair_column="other", **shares)

    def by_hash(row):
        number = row[0].split()[1]
        return hashlib.sha256(f"film {number}\0no {number}".encode()).digest()

    # The first row of each label is in train; the others, those of the rarest label
    # first, are dealt out so that their 11 make up for the shares of all 13: each is
    # where most is missing.
    few, many = sorted(rows[:3], key=by_hash), sorted(rows[3:], key=by_hash)
    expected = {"train": [few[0], many[0]], "dev": [], "test": []}
    names = {"t": "train", "d": "dev", "e": "test"}
    for letter, row in zip("tdetdtedtde", few[1:] + many[1:], strict=True):
        expected[names[letter]].append(row)
    for role, own in found.items():
        columns = zip(own.texts, own.text_pairs, strict=True)
        assert [*columns] == [row[:2] for row in rows if row in expected[role]]


def test_neither_the_order_of_rows_nor_the_seed_matters(parts):
    found = parts(random_seed=1)
    again = parts(random.Random(0).sample(_ROWS, len(_ROWS)), random_seed=2)
    assert texts(again) == texts(found)
    assert again["dev"].split == found["dev"].split
    assert again["dev"].texts != found["dev"].texts  # each part in the file's order


def test_numbers_and_several_labels_are_divided_evenly(parts):
    rows = [(f"film {i}", i / 10) for i in range(300)]
    found = parts(rows, label_kind="regression")
    assert [len(own) for own in found.values()] == [240, 30, 30]
    for own in found.values():
        tenths = np.histogram(own.labels, 5, (0, 30))[0] / len(own)
        assert tenths == pytest.approx([0.2] * 5, abs=0.04)
    # By the rarest label of a row.
    chance, shares = random.Random(3), {"a": 0.9, "b": 0.3, "c": 0.05}
    rows = [
        (f"film {i}", "|".join(n for n in shares if chance.random() < shares[n]))
        for i in range(400)
    ]
    found = parts(rows, label_kind="multi_label", dev_fraction=0.25, test_fraction=0.25)
    shares = [own.labels.mean(axis=0) for own in found.values()]
    np.testing.assert_allclose(shares[1:], [shares[0]] * 2, atol=0.05)


def test_every_label_is_learned(parts, caplog):
    caplog.set_level("INFO", "absl")
    rows = [*_ROWS, ("alone", "rare"), *((f"{i} of two", "pair") for i in range(2))]
    shares = {"dev_fraction": 0.45, "test_fraction": 0.45}
    found = parts(rows, labels="no,pair,rare,yes,unused", **shares)
    counts = np.bincount(found["train"].labels)  # of no, pair, rare, yes
    assert counts[2] == 1 and (counts > 0).all()
    lines = [line for line in caplog.messages if "too few rows" in line]
    assert any("for dev to have one of the label" in line for line in lines)
    assert all("'rare' (1 row(s))" in line for line in lines)
    assert not any("unused" in line for line in lines)


def test_equal_texts_are_in_one_part(parts, caplog):
    rows = [(f"{'A ' * (i % 2)}Film {i // 4}", "no") for i in range(400)]
    rows[1::4] = [(text.upper(), label) for text, label in rows[1::4]]
    found = parts(rows + _ROWS, dev_fraction=0.3)
    lowered = {role: {t.lower() for t in own} for role, own in texts(found).items()}
    train, dev, test = lowered.values()
    assert not (train & dev or train & test or dev & test)
    assert "messages.csv: 200 rows repeat another's text." in caplog.text


def test_a_group_is_in_one_part_and_its_texts_in_others_are_told(parts, caplog):
    header = ("sentence", "label", "author")
    rows = [(f"{i}", "yes" if i % 3 else "no", f"author {i // 10}") for i in range(300)]
    rows += [("ok", "yes", f"author {i}") for i in range(30)]
    found = parts(rows, header, group_column="author")
    groups = [set(own.groups) for own in found.values()]
    assert sum(map(len, groups)) == len(set.union(*groups)) == 30
    assert [len(own) for own in found.values()] == [264, 33, 33]
    assert "1 texts are in several parts, since their groups differ, such as 'ok'" in (
        caplog.text
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_found(parts, tmp_path, delimiter):
    rows = [(f'"good, bad; or\tnot {i}"', "yes" if i % 2 else "no") for i in range(40)]
    path = table(tmp_path / "messages.csv", rows, delimiter=delimiter)
    found = parts(path)
    assert found["dev"].texts[0].startswith("good, bad; or\tnot ")
    folder = tmp_path / "alone"
    folder.mkdir()
    shutil.move(path, folder)
    assert texts(parts(folder)) == texts(found)
    (folder / "notes.txt").write_text("no table")
    assert parts(folder)["dev"].split == found["dev"].split
    header = ("sentence", "label (good;bad;mixed)")  # which a comma divides
    ((_, first), *_) = read_rows(table(tmp_path / "t.csv", _ROWS, header))
    assert [*first] == [*header]


def test_bad_rows_are_told_once(parts, caplog):
    caplog.set_level("INFO", "absl")
    header = ("sentence", "label", "author")
    rows = [(text, label, text) for text, label in _ROWS]
    rows[3:5] = [("a film", "no", " "), ("", "no", "b")]
    with pytest.raises(UserError, match="line 5: the group in column 'author' is emp"):
        parts(rows, header, group_column="author")
    found = parts(rows, header, group_column="author", skip_bad_rows=True)
    assert "158 train, 20 dev, 20 test; 2 bad rows left out" in caplog.text
    assert {own.num_skipped for own in found.values()} == {0}


def test_flags_and_files_that_do_not_fit(parts, tmp_path):
    def refused(message, rows, **flags):
        with pytest.raises(UserError, match=message):
            parts(rows, **flags)

    refused("leave no row in dev or in train; expected more", _ROWS, dev_fraction=0)
    refused("--test_fraction=0.9 leave no row in dev or", _ROWS, test_fraction=0.9)
    halves = {"dev_fraction": 0.5, "test_fraction": 0.5}
    refused("--test_fraction=0.5 leave no row in dev or", _ROWS, **halves)
    refused("=sst-2 reads --data_dir as GLUE publishes", _ROWS, task_name="sst-2")
    refused("6 different texts, which leave none for test; raise --te", _ROWS[:6])
    rows = [("a", "x", "g"), ("A", "y", "g")]
    own = {"header": ("sentence", "label", "author")}
    refused("1 different texts, which leave none for dev; raise --dev", rows, **own)
    refused("1 groups, which leave none for d", rows, **own, group_column="author")
    (tmp_path / "messages.csv").unlink()
    refused(r"is a folder of 0 tables \(none\), expected o", tmp_path)
    for name in ("a.csv", "b.csv"):
        table(tmp_path / name, _ROWS)
    refused(r"of 2 tables \(a.csv, b.csv\), expected", tmp_path)
    for name, value in (
        ("dev_fraction", 0.2),
        ("test_fraction", 0.2),
        ("group_column", "author"),
    ):
        with pytest.raises(UserError, match=f"--{name} needs --data_file; leave it o"):
            SplitFlags(**{name: value}).check_split("folder")


def test_a_start_has_learned_from_no_other_split_of_the_table():
    split = {"dev_fraction": 0.1, "digest": "d"}
    start = types.SimpleNamespace(path="tuned", info={"split": split})
    for digest, refused in (("d", True), ("e", False)):
        own, other = ({"dev_fraction": 0.2, "digest": d} for d in (digest, "f"))
        examples = {
            role: types.SimpleNamespace(path="t.csv", split=of_role)
            for role, of_role in (
                ("file", None),
                ("train", split),
                ("other", other),
                ("dev", own),
            )
        }
        told = pytest.raises(UserError, match=r"s: dev_fraction 0.1 \(not 0.2\)\. Its")
        with told if refused else contextlib.nullcontext():
            check_same_split(start, examples, is_start=True)
        check_same_split(types.SimpleNamespace(info={}), examples)


@pytest.mark.slow
def test_a_run_and_what_follows_know_the_same_split(flags, tmp_path):
    path = table(tmp_path / "messages.csv", _ROWS)
    run = {"data_file": path, "data_dir": None, "task_name": None}
    out = flags(**FINISHED, **run, do_eval=True, do_predict=True)
    info = json.loads((out / "model" / "training_info.json").read_text())
    digest = info["split"].pop("digest")
    fractions = {"dev_fraction": 0.1, "test_fraction": 0.1}
    assert info["split"] == {**fractions, "group_column": None}
    rows = (out / "submit_results.tsv").read_text().splitlines()
    assert len(rows) == 1 + 20
    scores = (out / "eval_results.txt").read_text()
    assert "eval_accuracy = " in scores and "test_accuracy = " in scores
    moved = {**run, "data_file": shutil.move(path, tmp_path / "moved.csv")}
    flags(**moved, do_eval=True)
    assert (out / "eval_results.txt").read_text() == scores
    flags(**FINISHED, **moved)  # finished, with the same rows
    more = table(tmp_path / "more.csv", [*_ROWS, ("one more", "no")])
    other = "another split than .*: dev_fraction 0.1 .not 0.2.. Its dev and"
    trained = "--dev_fraction is 0.2, but the run in .*out.* has 0.1;"
    rows = "The digest of .*more.csv is .*, but the run in .*out.* has "
    for applied, of_split, of_rows in (
        (FINISHED, trained, rows),
        ({"do_predict": True}, other, f"digest {digest} .not"),
    ):
        with pytest.raises(UserError, match=of_split):
            flags(**applied, **moved, dev_fraction=0.2)
        with pytest.raises(UserError, match=of_rows):
            flags(**applied, **{**run, "data_file": more})
    further = {"do_train": True, "dev_fraction": 0.2, "output_dir": tmp_path / "next"}
    model = out / "model"
    for start in ({**APPLIED, "init_checkpoint": model}, {"teacher": model}):
        with pytest.raises(UserError, match=other):
            flags(**moved, **further, **start)
