"""run_tagging from flags to files, on a corpus that a tiny model learns."""

import dataclasses
import itertools
import json
import logging
import random

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.classification import AlbertForTokenClassification
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.loading import fine_tuned
from albert_tf.tasks.metrics import entity_scores
from albert_tf.tasks.tagging import run
from albert_tf.tasks.tagging.flags import TaggingOptions
from albert_tf.tasks.tagging.schemes import entities_of
from albert_tf.tasks.tagging.schemes import is_legal
from albert_tf.tokenization import load_tokenizer


def results(out):
    lines = (out / "eval_results.txt").read_text().splitlines()
    return {key: float(value) for key, value in (line.split(" = ") for line in lines)}


def columns(path):
    """The last two columns of a file by sentence: expected and predicted tags."""
    rows = [line.split()[-2:] for line in path.read_text().splitlines()[2:]]
    groups = itertools.groupby(rows, key=bool)
    return [tuple(zip(*group, strict=True)) for is_text, group in groups if is_text]


@pytest.mark.slow
def test_learned_applied_and_found_again(flags, write_conll, make_sentences, tmp_path):
    out = flags(do_train=True, do_eval=True, do_predict=True)
    scores = results(out)
    assert scores["f1"] >= 0.95
    assert scores["eval_accuracy"] >= 0.95
    gold, found = zip(*columns(out / "predictions.conll"), strict=True)
    assert len(gold) == 12
    expected = entity_scores(map(entities_of, gold), map(entities_of, found))
    for name, value in expected.items():
        assert scores[f"test_{name}"] == pytest.approx(value), name
    wrong = sum(a != b for a, b in zip(gold, found, strict=True))
    page = (out / "test_errors.html").read_text()
    assert f"{wrong} of 12 sentences are not wholly right" in page
    info = json.loads((out / "model" / "training_info.json").read_text())
    assert info["task"] == {
        "kind": "tagging",
        "name": "custom",
        "metrics": ["f1"],
        "scheme": "iob2",
        "decoder": "greedy",
        "doc_stride": 5,
        "dropout_prob": 0.0,
    }
    head = json.loads((out / "model" / "head.json").read_text())
    assert head["labels"] == ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]

    before = {path: path.stat().st_mtime_ns for path in out.glob("model/*")}
    flags(do_train=True, do_eval=True, do_predict=True)  # finished: nothing to train
    assert {path: path.stat().st_mtime_ns for path in out.glob("model/*")} == before
    assert results(out) == scores

    # Applied: windows are those of training, and a file without tags is not scored.
    write_conll("test.conll", make_sentences(12, 2), with_tags=False)
    model = {"init_checkpoint": out / "model", "from_scratch": None}
    model |= {"albert_config_file": None, "vocab_file": None}
    other = tmp_path / "other"
    flags(do_predict=True, output_dir=other, doc_stride=1, max_seq_length=9, **model)
    lines = (other / "predictions.conll").read_text().splitlines()
    assert [line.split()[1:] for line in lines[2:]] == [
        line.split()[4:] for line in (out / "predictions.conll").read_text().split("\n")
    ][2:-1]
    assert not (other / "eval_results.txt").exists()

    # And to raw texts.
    (tmp_path / "data" / "test.conll").unlink()
    text = "Ada met Kurt in  New York 我在北京"
    path = tmp_path / "data" / "test.jsonl"
    path.write_text(json.dumps({"text": text}) + "\n")
    flags(do_predict=True, output_dir=other, **model)
    [line] = (other / "predictions.jsonl").read_text().splitlines()
    spans = {
        (s["label"], text[s["start"] : s["end"]]) for s in json.loads(line)["spans"]
    }
    places = {("LOC", "New York"), ("LOC", "北京")}
    assert spans == {("PER", "Ada"), ("PER", "Kurt"), *places}


@pytest.mark.slow
@pytest.mark.nightly
def test_interrupted_training_goes_on(flags, continues_exactly):
    continues_exactly(flags, train_step=4)
    with pytest.raises(UserError, match="doc_stride"):
        flags(do_train=True, save_checkpoints_steps=2, train_step=4, doc_stride=4)


@pytest.mark.slow
def test_the_decoder_decides_whether_tags_are_legal(flags, tmp_path):
    out = flags(do_train=True, train_step=3, scheme="iob2", dropout_prob=0.25)
    model = AlbertForTokenClassification.from_pretrained(out / "model")
    assert model.classifier_dropout_prob == 0.25
    # Whose best tags are illegal wherever it sees a name.
    model.classifier.output_bias.assign([0, -9, 1, -9, 1])
    model.save_pretrained(tmp_path / "odd", load_tokenizer(tmp_path / "vocab.txt"))
    applied = {"init_checkpoint": tmp_path / "odd", "from_scratch": None}
    applied |= {"albert_config_file": None, "vocab_file": None, "do_eval": True}
    found = {}
    for decoder in ("greedy", "legal"):
        flags(output_dir=tmp_path / decoder, decoder=decoder, **applied)
        found[decoder] = results(tmp_path / decoder)
    # The one ends sequences as it likes, of the other every I has its B.
    assert found["greedy"]["recall"] != found["legal"]["recall"]
    assert found["greedy"]["eval_loss"] == found["legal"]["eval_loss"]
    assert not is_legal("O", "I-LOC", "iob2")


@pytest.mark.slow
def test_spans_that_end_within_a_word_are_told(flags, tmp_path, caplog):
    data = tmp_path / "data"
    for role in ("train", "dev"):
        (data / f"{role}.conll").unlink()
        objects = [
            {"text": "ada-like met", "spans": [{"start": 0, "end": 3, "label": "PER"}]},
            {"text": "in Oslo.", "spans": [{"start": 3, "end": 7, "label": "LOC"}]},
        ]
        if role == "dev":
            objects[1]["spans"][0]["label"] = "GPE"
        lines = "".join(json.dumps(one) + "\n" for one in objects)
        (data / f"{role}.jsonl").write_text(lines)
    with caplog.at_level(logging.WARNING):
        out = flags(do_train=True, do_eval=True, train_step=1, train_batch_size=2)
    assert "that begin or end within a word: 1; the model learns" in caplog.text
    assert "the model has no tag for GPE; it misses" in caplog.text
    scores = results(out)
    assert scores["GPE_recall"] == scores["PER_recall"] == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data_dir": None}, "--data_dir is needed"),
        ({"data_dir": "missing"}, "--data_dir=missing has no train.conll, train.txt, "),
        ({"scheme": "bioes"}, "train.conll, line 3: bioes does not allow . after "),
        ({"tag_column": 1}, "train.conll, line 3: the tag 'X' is neither O"),
    ],
)
def test_flags_that_do_not_fit(flags, changes, message):
    with pytest.raises(UserError, match=message) as error:
        flags(**{"do_train": True, **changes})
    assert "\n" not in str(error.value)


def test_two_files_for_a_role_are_refused(flags, tmp_path):
    for data in (tmp_path / "data").glob("dev.*"):
        (data.parent / "dev.bio").write_text(data.read_text())
    with pytest.raises(UserError, match="has dev.bio and dev.conll; keep one of them"):
        flags(do_train=True)


def test_data_that_does_not_fit(flags, write_conll, tmp_path):
    write_conll("train.conll", [[("a", "O")]])
    with pytest.raises(UserError, match="has no entity, so there is nothing to learn"):
        flags(do_train=True)
    (tmp_path / "data" / "train.txt").write_text("a O\n")
    with pytest.raises(UserError, match="has train.conll and train.txt; keep one of"):
        flags(do_train=True)


def test_a_model_of_another_task(flags, tiny_config, words, tmp_path):
    model = AlbertForSequenceClassification(tiny_config(), labels=["a", "b"])
    model.save_pretrained(tmp_path / "other", words)
    changes = {"init_checkpoint": tmp_path / "other", "from_scratch": None}
    with pytest.raises(UserError, match="was fine-tuned for single_label; apply it"):
        flags(do_eval=True, **changes)


@pytest.mark.slow
def test_plain_tags_are_learned_and_applied(flags, write_conll, tmp_path):
    kinds = {"ada": "NAME", "alan": "NAME", "met": "VERB", "saw": "VERB", ".": "MARK"}
    names = list(kinds)

    def sentences(count, seed):
        chance = random.Random(seed)
        drawn = [chance.choices(names, k=chance.randint(2, 8)) for _ in range(count)]
        return [[(word, kinds[word]) for word in words] for words in drawn]

    for role, count, seed in (("train", 64, 0), ("dev", 12, 1), ("test", 12, 2)):
        write_conll(f"{role}.conll", sentences(count, seed))
    with pytest.raises(UserError, match="is neither O nor .*=plain takes parts"):
        flags(do_train=True)
    out = flags(do_train=True, do_eval=True, scheme="plain")
    scores = results(out)
    assert scores["eval_accuracy"] >= 0.95 and scores["macro_f1"] >= 0.95
    assert "f1" not in scores
    info = json.loads((out / "model" / "training_info.json").read_text())["task"]
    head = json.loads((out / "model" / "head.json").read_text())
    assert head["labels"] == ["MARK", "NAME", "VERB"]
    assert (info["scheme"], info["metrics"]) == ("plain", ["accuracy", "macro_f1"])

    # Applied, the model knows what its tags are.
    model = {"init_checkpoint": out / "model", "from_scratch": None}
    model |= {"albert_config_file": None, "vocab_file": None}
    model |= {"output_dir": tmp_path / "other"}
    flags(do_predict=True, **model)
    gold, found = zip(*columns(tmp_path / "other" / "predictions.conll"), strict=True)
    assert len(gold) == 12
    gold, found = (list(itertools.chain(*tags)) for tags in (gold, found))
    right = sum(a == b for a, b in zip(gold, found, strict=True)) / len(gold)
    assert right >= 0.95
    with pytest.raises(UserError, match="--scheme=iob2 does not fit .*tags are plain"):
        flags(do_predict=True, scheme="iob2", **model)
    text = "Ada met  alan."
    words = Predictor(out / "model")(text)["entities"]
    assert [(w["entity"], w["label"]) for w in words] == [
        (word, kinds[word.lower()]) for word in ("Ada", "met", "alan", ".")
    ]
    assert [text[w["start"] : w["end"]] for w in words] == ["Ada", "met", "alan", "."]


@pytest.mark.slow
def test_the_model_decides_how_it_decodes_unless_a_flag_does(flags, tmp_path):
    out = flags(do_train=True, train_step=1, decoder="legal")
    model = {"init_checkpoint": out / "model", "from_scratch": None}
    model |= {"albert_config_file": None, "vocab_file": None}
    options = parse(TaggingOptions, ["run_tagging.py", f"--output_dir={out}"])
    opened, task = fine_tuned(out)
    decoders = {
        asked: run._as_asked(
            dataclasses.replace(options, decoder=asked), opened, task
        ).decoder
        for asked in (None, "greedy", "legal")
    }
    assert decoders == {None: "legal", "greedy": "greedy", "legal": "legal"}
    with pytest.raises(UserError, match="--decoder=greedy is not that of .*with legal"):
        flags(do_eval=True, decoder="greedy", export_dir=tmp_path / "served", **model)
