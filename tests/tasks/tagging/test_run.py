"""run_tagging from flags to files, on a corpus that a tiny model learns."""

import itertools
import json
import logging
import types

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.tasks.metrics import entity_scores
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tagging import run
from albert_tf.tasks.tagging.flags import TaggingOptions
from albert_tf.tasks.tagging.schemes import entities_of
from albert_tf.tasks.tagging.sentences import TagFile
from albert_tf.tasks.tagging.sentences import sentence_of_words
from albert_tf.tasks.task import Prepared
from tests.tasks.conftest import APPLIED
from tests.tasks.conftest import results

_LABELS = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")


def columns(path):
    """The last two columns of a file by sentence: expected and predicted tags."""
    rows = [line.split()[-2:] for line in path.read_text().splitlines()[2:]]
    groups = itertools.groupby(rows, key=bool)
    return [tuple(zip(*group, strict=True)) for is_text, group in groups if is_text]


@pytest.mark.slow
def test_learned_applied_and_found_again(flags, write_conll, make_sentences, tmp_path):
    out = flags(do_train=True, do_eval=True, do_predict=True)
    scores = results(out)
    assert scores["f1"] >= 0.95 and scores["eval_accuracy"] >= 0.95
    gold, found = zip(*columns(out / "predictions.conll"), strict=True)
    assert len(gold) == 12
    expected = entity_scores(map(entities_of, gold), map(entities_of, found))
    for name, value in expected.items():
        assert scores[f"test_{name}"] == pytest.approx(value), name
    wrong = sum(a != b for a, b in zip(gold, found, strict=True))
    page = (out / "test_errors.html").read_text()
    assert f"{wrong} of 12 sentences are not wholly right" in page
    head = json.loads((out / "model" / "head.json").read_text())
    assert head["labels"] == list(_LABELS)
    # Windows are those of training, and a file without tags is not scored.
    write_conll("test.conll", make_sentences(12, 2), with_tags=False)
    other, model = tmp_path / "other", {**APPLIED, "init_checkpoint": out / "model"}
    flags(do_predict=True, output_dir=other, doc_stride=1, max_seq_length=9, **model)
    lines = (other / "predictions.conll").read_text().splitlines()[2:]
    expected = (out / "predictions.conll").read_text().splitlines()[2:]
    assert [line.split()[1:] for line in lines] == [
        line.split()[4:] for line in expected
    ]
    assert not (other / "eval_results.txt").exists()


def options(data_dir, **changes):
    values = {"data_dir": str(data_dir), "output_dir": "out", "do_train": True}
    return TaggingOptions(**{**values, **changes}).completed()


def read(data_dir, tuned=None, **changes):
    """The task and the files of a command with flags."""
    return run._read_folder(options(data_dir, **changes), tuned)


def test_flags_are_settings_of_the_task(data_dir):
    task, examples = read(data_dir, doc_stride=5, dropout_prob=0.25, do_eval=True)
    assert (task.labels, task.scheme, task.decoder) == (_LABELS, "iob2", "greedy")
    assert (task.doc_stride, task.metrics) == (5, ("f1",))
    assert task.model_arguments()["classifier_dropout_prob"] == 0.25
    assert {role: len(file) for role, file in examples.items()} == {
        "train": 96,
        "dev": 24,
    }
    assert read(data_dir, decoder="legal")[0].decoder == "legal"


def test_plain_tags_need_a_flag_in_training_alone(data_dir, write_conll):
    sentence = [("ada", "NAME"), ("met", "VERB"), (".", "MARK")]
    for role in ("train", "dev"):
        write_conll(f"{role}.conll", [sentence])
    with pytest.raises(UserError, match="is neither O nor .*=plain takes parts"):
        read(data_dir)
    task, _ = read(data_dir, scheme="plain")
    assert task.labels == ("MARK", "NAME", "VERB")
    assert (task.scheme, task.metrics) == ("plain", ("accuracy", "macro_f1"))
    applied, examples = read(data_dir, task, do_train=False, do_eval=True)
    assert applied is task and examples["dev"].types() == ["MARK", "NAME", "VERB"]
    opened = types.SimpleNamespace(path="model")
    with pytest.raises(UserError, match="--scheme=iob2 does not fit model.* are plain"):
        run._as_asked(options(data_dir, scheme="iob2"), opened, task)


def test_the_model_decides_how_it_decodes_unless_a_flag_does(data_dir):
    task, _ = read(data_dir, decoder="legal", doc_stride=5)
    opened, found = types.SimpleNamespace(path="model"), {}
    for decoder in (None, "greedy", "legal"):
        flags = options(data_dir, do_train=False, decoder=decoder, doc_stride=7)
        asked = run._as_asked(flags, opened, task)
        found[decoder] = asked.decoder
        assert asked.doc_stride == 7  # to be told that the model's is another
    assert found == {None: "legal", "greedy": "greedy", "legal": "legal"}
    flags = options(data_dir, do_train=False, decoder="greedy", export_dir="served")
    with pytest.raises(UserError, match="--decoder=greedy is not that of .*with legal"):
        run._as_asked(flags, opened, task)


def test_the_decoder_decides_whether_tags_are_legal(words):
    sentence = sentence_of_words("1", ["new", "ada"], ["B-LOC", "I-LOC"], None)
    examples = TagFile("file", (sentence,), "conll")
    logits = np.zeros((1, 4, 5), np.float32)
    logits[0, 1, 1] = logits[0, 2, 4] = 2  # B-LOC and I-PER, which may not follow
    logits[0, 2, 2] = 1  # I-LOC
    found = {}
    for decoder in ("greedy", "legal"):
        task = create_task("tagging", "custom", labels=_LABELS, decoder=decoder)
        prepared = Prepared(examples, task.tokenize(examples, words, 12))
        interpreted = task.interpret(prepared, logits)
        found[decoder] = task.score(prepared, interpreted)
        [(*entity, score)] = interpreted[-1][0][:1]
        assert entity == ["LOC", 0, 3 if decoder == "greedy" else 7]
    # The score is the mean probability of the entity's tags.
    shares = [np.exp(2) / (4 + np.exp(2)), np.e / (3 + np.e + np.exp(2))]
    assert score == pytest.approx(np.mean(shares))
    assert (found["greedy"]["recall"], found["legal"]["recall"]) == (0, 1)
    assert found["greedy"]["loss"] == found["legal"]["loss"]


def test_what_no_model_can_tag_is_told_and_missed(data_dir, words, caplog):
    for role, label in (("train", "LOC"), ("dev", "GPE")):
        (data_dir / f"{role}.conll").unlink()
        objects = [
            {"text": "ada-like met", "spans": [{"start": 0, "end": 3, "label": "PER"}]},
            {"text": "in Oslo.", "spans": [{"start": 3, "end": 7, "label": label}]},
        ]
        lines = "".join(json.dumps(one) + "\n" for one in objects)
        (data_dir / f"{role}.jsonl").write_text(lines)
    with caplog.at_level(logging.WARNING):
        task, examples = read(data_dir)
    assert "that begin or end within a word: 1; the model learns" in caplog.text
    assert "dev.jsonl: the model has no tag for GPE; it misses" in caplog.text
    tokens = task.tokenize(examples["dev"], words, 12)
    prepared = Prepared(examples["dev"], tokens)
    outputs = np.zeros((2, int(tokens.lengths.max()), 5), np.float32)
    scores = task.score(prepared, task.interpret(prepared, outputs))
    # "in", "Oslo", "." and "met" are O, "ada-like" is B-PER; of GPE there is no loss.
    assert scores["loss"] == pytest.approx(np.log(5))
    assert scores["GPE_recall"] == scores["PER_recall"] == 0


def test_a_model_of_another_task(flags, saved_model):
    changes = {**APPLIED, "init_checkpoint": saved_model("classification")}
    with pytest.raises(UserError, match="was fine-tuned for single_label; apply it"):
        flags(do_eval=True, **changes)
