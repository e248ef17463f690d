"""Tagging of words: schemes, rows, decoders, and run_tagging from flags to files."""

import itertools
import json
import logging
import random
import types

import numpy as np
import pytest
import seqeval.metrics

from albert_tf.errors import UserError
from albert_tf.tasks.batching import training_dataset
from albert_tf.tasks.metrics import entity_scores
from albert_tf.tasks.metrics import tag_scores
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tagging import run
from albert_tf.tasks.tagging import schemes
from albert_tf.tasks.tagging.flags import TaggingOptions
from albert_tf.tasks.tagging.rows import tokenize_sentences
from albert_tf.tasks.tagging.sentences import TagFile
from albert_tf.tasks.tagging.sentences import sentence_of_words
from albert_tf.tasks.tagging.sentences import word_bounds
from albert_tf.tasks.task import Prepared
from albert_tf.tasks.tokenized_examples import cached_tokens
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.tasks.conftest import APPLIED
from tests.tasks.conftest import results

_PERSONS = ["ada", "alan", "grace", "kurt"]
_PLACES = ["paris", "oslo", "new york", "北 京"]
_OTHERS = ["the", "a", "went", "to", "in", "saw", "met", "of", "我", "在"]
# "kurt" and "york" have two pieces each.
_PIECES = ["ada", "alan", "grace", "ku", "##rt", "paris", "oslo", "new", "yo", "##rk"]
_PIECES += ["北", "京", *_OTHERS, ".", ","]


@pytest.fixture(scope="session")
def words(vocabulary):
    """A WordPiece tokenizer of the corpus."""
    return WordPieceTokenizer(vocabulary(_PIECES).encode())


def make_sentences(count, seed):
    """Makes sentences, lists of (word, tag in IOB2)."""
    chance = random.Random(seed)
    return [
        [pair for _ in range(chance.randint(2, 8)) for pair in _phrase(chance)]
        for _ in range(count)
    ]


def _phrase(chance):
    kind = chance.choice(["PER", "LOC", "O", "O", "O"])
    if kind == "O":
        return [(chance.choice(_OTHERS), "O")]
    names = chance.choice(_PERSONS if kind == "PER" else _PLACES).split()
    tags = [f"B-{kind}"] + [f"I-{kind}"] * (len(names) - 1)
    return list(zip(names, tags, strict=True))


@pytest.fixture
def write_conll(tmp_path):
    """Writes sentences to a file of the folder `data`, with two columns between."""

    def write(name, sentences, with_tags=True):
        lines = ["-DOCSTART- -X- -X- O", ""]
        for sentence in sentences:
            lines += [f"{w} X X {t}" if with_tags else w for w, t in sentence] + [""]
        path = tmp_path / "data" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n", "utf-8")
        return path

    return write


@pytest.fixture
def data_dir(write_conll):
    """The folder of three files."""
    for seed, (role, count) in enumerate((("train", 96), ("dev", 24), ("test", 12))):
        path = write_conll(f"{role}.conll", make_sentences(count, seed))
    return path.parent


@pytest.fixture
def flags(data_dir, tiny_model, command):
    """Runs the command with flags; the defaults are a complete tiny task."""
    return command(
        TaggingOptions,
        data_dir=data_dir,
        **tiny_model(_PIECES),
        max_seq_length=12,
        doc_stride=5,
        train_batch_size=16,
        train_step=60,
        save_checkpoints_steps=30,
        learning_rate=1e-2,
        dropout_prob=0,
    )


# What conlleval.pl counts, with an entity's first word and the one after its last.
_COUNTED = {
    # IOB1, IOB2 and BIOES.
    "I-A I-A B-A O I-B": [("A", 0, 2), ("A", 2, 3), ("B", 4, 5)],
    "B-A I-A B-A O B-B": [("A", 0, 2), ("A", 2, 3), ("B", 4, 5)],
    "B-A E-A S-A O S-B": [("A", 0, 2), ("A", 2, 3), ("B", 4, 5)],
    # Illegal ones: another type, an end without a beginning, no end.
    "B-A I-B I-B": [("A", 0, 1), ("B", 1, 3)],
    "O E-A I-A O": [("A", 1, 2), ("A", 2, 3)],
    "B-A I-A S-A E-A": [("A", 0, 2), ("A", 2, 3), ("A", 3, 4)],
    "E-A E-A B-A": [("A", 0, 1), ("A", 1, 2), ("A", 2, 3)],
    "O O": [],
    "": [],
}


def test_entities_of_tags():
    found = {tags: schemes.entities_of(tags.split()) for tags in _COUNTED}
    assert found == _COUNTED


def test_scores_are_those_of_seqeval():
    random = np.random.default_rng(0)
    for scheme in schemes.ENTITY_SCHEMES:
        tags = schemes.all_tags(["A", "B-C"], scheme)
        gold, found = (
            [list(random.choice(tags, size)) for size in range(1, 60)] for _ in "ab"
        )
        # Of random tags hardly one entity would be right.
        for one, other in zip(gold[::2], found[::2], strict=True):
            other[: len(one) // 2] = one[: len(one) // 2]
        of_both = (map(schemes.entities_of, own) for own in (gold, found))
        scores = entity_scores(*of_both, types=["C"])
        assert scores["C_f1"] == 0
        report = seqeval.metrics.classification_report(
            gold, found, output_dict=True, zero_division=0
        )
        for name, prefix in (("micro avg", ""), ("A", "A_"), ("B-C", "B-C_")):
            own = report[name]
            expected = [own["precision"], own["recall"], own["f1-score"]]
            names = ("precision", "recall", "f1")
            assert [scores[prefix + n] for n in names] == pytest.approx(expected)


@pytest.mark.parametrize("scheme", schemes.ENTITY_SCHEMES)
def test_tags_mean_the_entities_that_they_are_of(scheme):
    entities = [("A", 0, 2), ("A", 2, 3), ("B", 3, 4), ("A", 5, 8), ("A", 8, 9)]
    tags = schemes.tags_of(entities, 10, scheme)
    assert schemes.entities_of(tags) == entities
    schemes.check_tags(tags, scheme)
    assert schemes.find_scheme([("here", tags)]) == scheme
    assert {*tags} <= {*schemes.all_tags(["A", "B"], scheme)}
    expected = {
        "iob1": "I-A I-A B-A I-B O I-A I-A I-A B-A O",
        "iob2": "B-A I-A B-A B-B O B-A I-A I-A B-A O",
        "bioes": "B-A E-A S-A S-B O B-A I-A E-A S-A O",
    }
    assert " ".join(tags) == expected[scheme]
    whole = {"iob1": "I-A I-A", "iob2": "B-A I-A", "bioes": "B-A E-A"}
    assert " ".join(schemes.tags_of([("A", 0, 2)], 2, scheme)) == whole[scheme]


def test_tags_that_fit_no_scheme():
    with pytest.raises(ValueError, match=r"^bioes does not allow O after B-A \(x\)$"):
        schemes.find_scheme([("x", ["S-A", "B-A"])])
    first = schemes.find_scheme([("here", ["B-A", "O"])])  # that fits
    assert first == "iob2"


@pytest.mark.parametrize("scheme", schemes.ENTITY_SCHEMES)
def test_the_legal_decoder_finds_the_best_legal_sequence(scheme):
    labels = schemes.all_tags("AB", scheme)
    allowed = schemes.steps(labels, scheme, "legal")
    random, changed = np.random.default_rng(1), 0

    def is_legal(path):
        steps = itertools.pairwise(["O", *(labels[tag] for tag in path), "O"])
        return all(schemes.is_legal(*step, scheme) for step in steps)

    for count in (1, 2, 3, 3, 4, 4):
        logits = random.normal(size=(count, len(labels))).astype(np.float32)
        paths = [*filter(is_legal, itertools.product(range(len(labels)), repeat=count))]
        best = paths[np.argmax([sum(logits[range(count), path]) for path in paths])]
        legal = schemes.best_tags(logits, labels, allowed)
        assert legal.tolist() == list(best)
        changed += best != tuple(schemes.best_tags(logits, labels, None))
        # What is legal already stays as it is.
        once = np.where(np.arange(len(labels)) == legal[:, None], 9, logits)
        assert schemes.best_tags(once, labels, allowed).tolist() == list(best)
    assert changed
    assert schemes.best_tags(logits[:0], labels, allowed).tolist() == []


def test_plain_tags_are_each_of_their_word():
    tags = ["NN", "NN", "B-X", "O", "I-Y"]
    entities = [(tag, place, place + 1) for place, tag in enumerate(tags)]
    assert schemes.entities_of(tags, "plain") == entities
    assert schemes.tags_of(entities, 5, "plain") == tags
    assert schemes.tags_of(entities[1:2], 3, "plain") == [None, "NN", None]
    assert schemes.all_tags(["A", "O"], "plain") == ("A", "O")
    schemes.check_tags(tags, "plain")
    logits = np.array([[1.0, 2.0], [3.0, 2.0]], np.float32)
    for decoder in schemes.DECODERS:
        assert schemes.steps(["A", "B"], "plain", decoder) is None
    assert schemes.best_tags(logits, ["A", "B"], None).tolist() == [1, 0]
    assert schemes.scores_without_token(["A", "O"], "plain").tolist() == [0, 0]
    # accuracy_score and f1_score(average="macro") of scikit-learn 1.9.1; of the word
    # whose tag nobody knows there is nothing to score.
    expected = ["A", "B", "B", "C", "A", "new", None, "A"]
    found = ["A", "B", "A", "A", "A", "B", "D", "B"]
    golden = {"accuracy": 3 / 7, "macro_f1": 0.24285714285714285}
    assert tag_scores(expected, found) == pytest.approx(golden, abs=1e-12)
    assert tag_scores([None], ["A"]) == {"accuracy": 0.0, "macro_f1": 0.0}


_LABELS = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")


def sentence(text, tags=None):
    return sentence_of_words("here", text.split(), tags and tags.split(), None)


def pieces(tokens, tokenizer):
    return [
        " ".join(tokenizer.pieces[i] for i in tokens.ids[start : start + length])
        for start, length in zip(tokens.starts, tokens.lengths, strict=True)
    ]


def test_windows_overlap_and_lose_nothing(words):
    texts = ("kurt met ada in new york .", "\u200b", "a")
    tokens = tokenize_sentences(list(map(sentence, texts)), words, 7, 3)
    expected = ["ku ##rt met ada in ", "ada in new yo ##rk ", "yo ##rk . ", "", "a "]
    assert pieces(tokens, words) == [f"[CLS] {row}[SEP]" for row in expected]
    np.testing.assert_array_equal(tokens.first_lengths, tokens.lengths)
    # The first piece of each word: kurt 0, met 1, ada 2, in 3, new 4, york 5, "." 6.
    first = [0, -1, 1, 2, 3], [2, 3, 4, 5, -1], [5, -1, 6], [], [8]
    assert tokens.words.tolist() == [w for row in first for w in (-1, *row, -1)]
    # Each word is seen best once, if it has a token.
    seen = tokens.words[tokens.is_max_context]
    assert sorted(seen[seen >= 0]) == [0, 1, 2, 3, 4, 5, 6, 8]
    outputs = 10 * np.arange(5.0)[:, None, None] + np.arange(7)[:, None]
    found, has_token = tokens.of_words(outputs, 9)  # of window and place
    assert found[:, 0].tolist() == [1, 3, 4, 12, 13, 14, 23, 0, 41]
    assert has_token.tolist() == [True] * 7 + [False, True]


def test_each_word_is_tokenized_by_itself(english):
    for text, words in {
        "Ada met Alan.": "Ada|met|Alan|.",
        "(U.S., it's 1,000!)": "(|U.S|.|,|it's|1,000|!|)",
        "...": ".|.|.",
        "我在New York，北京。": "我|在|New|York|，|北|京|。",
        " \u3000 ": "",
    }.items():
        assert "|".join(text[a:b] for a, b in word_bounds(text)) == words
    one, other = sentence("U.N. officials , in Oslo"), sentence("北 京 Oslo")
    tokens = tokenize_sentences([one, other], english, 32, 16)
    rows = np.split(tokens.ids, tokens.starts[1:])
    for text, row in zip((one, other), rows, strict=True):
        ids = [i for word in text.words for i in english.encode(word)]
        assert row.tolist() == [english.cls_id, *ids, english.sep_id]


def test_labels_are_those_of_first_pieces(words, tmp_path):
    task = create_task("tagging", "custom", labels=_LABELS, doc_stride=3)
    texts = ("kurt met ada in new york", "B-PER O B-PER O B-LOC I-LOC"), ("a", "O")
    examples = TagFile("file", tuple(sentence(*text) for text in texts), "conll")
    first, again = (cached_tokens(task, examples, words, 7, tmp_path) for _ in "ab")
    np.testing.assert_array_equal(first.labels, again.labels)
    rows = np.split(first.labels, first.starts[1:])
    expected = [[-1, 3, -1, 0, 3, 0, -1], [-1, 3, 0, 1, 2, -1, -1], [-1, 0, -1]]
    assert [row.tolist() for row in rows] == expected
    [batch] = training_dataset(first, 3, 8, seed=1, repeat=False, buckets=(8,))
    assert batch["labels"].shape == batch["input_ids"].shape == (3, 8)
    assert sorted(batch["labels"].numpy().sum(axis=1).tolist()) == [-7, 2, 2]
    assert not batch["segment_ids"].numpy().any()
    logits = np.zeros((3, 8, 5), np.float32)
    total, metrics = task.objective().terms[0].sums(logits, batch)
    assert float(total) == pytest.approx(9 * np.log(5), rel=1e-6)
    assert [float(value) for value in metrics["accuracy"]] == [4, 9]


def test_what_training_info_may_not_say():
    for fields, message in (
        ({"labels": "O"}, "the tags are 'O', expected a list of texts"),
        ({"labels": ["B-A", "I-A"]}, "expected O and others, no repeats"),
        ({"scheme": "io"}, "'io', expected one of iob2, iob1, bioes"),
        ({"decoder": 1}, "decoder is 1, expected one of greedy, "),
        ({"doc_stride": 0}, "doc_stride is 0, expected a positive"),
    ):
        with pytest.raises(ValueError, match=message):
            create_task("tagging", "custom", **{"labels": ["O"], **fields})


def columns(path):
    """The last two columns of a file by sentence: expected and predicted tags."""
    rows = [line.split()[-2:] for line in path.read_text().splitlines()[2:]]
    groups = itertools.groupby(rows, key=bool)
    return [tuple(zip(*group, strict=True)) for is_text, group in groups if is_text]


@pytest.mark.slow
def test_learned_applied_and_found_again(flags, write_conll, tmp_path):
    out = flags(do_train=True, do_eval=True, do_predict=True)
    scores = results(out)
    assert scores["f1"] >= 0.95 and scores["eval_accuracy"] >= 0.95
    gold, found = zip(*columns(out / "predictions.conll"), strict=True)
    assert len(gold) == 12
    of_both = (map(schemes.entities_of, own) for own in (gold, found))
    for name, value in entity_scores(*of_both).items():
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
    lines, expected = (
        (folder / "predictions.conll").read_text().splitlines()[2:]
        for folder in (other, out)
    )
    expected = [line.split()[4:] for line in expected]
    assert [line.split()[1:] for line in lines] == expected
    assert not (other / "eval_results.txt").exists()


def options(data_dir, **changes):
    values = {"data_dir": str(data_dir), "output_dir": "out", "do_train": True}
    return TaggingOptions(**{**values, **changes}).completed()


def read(data_dir, tuned=None, **changes):
    """The task and the files of a command with flags."""
    return run._read_folder(options(data_dir, **changes), tuned)


def test_flags_are_settings_of_the_task(data_dir, flags, saved_model):
    task, examples = read(data_dir, doc_stride=5, dropout_prob=0.25, do_eval=True)
    assert (task.labels, task.scheme, task.decoder) == (_LABELS, "iob2", "greedy")
    assert (task.doc_stride, task.metrics) == (5, ("f1",))
    assert task.model_arguments()["classifier_dropout_prob"] == 0.25
    assert [*map(len, examples.values())] == [96, 24] and "dev" in examples
    assert read(data_dir, decoder="legal")[0].decoder == "legal"
    changes = {**APPLIED, "init_checkpoint": saved_model("classification")}
    with pytest.raises(UserError, match="was fine-tuned for single_label; apply it"):
        flags(do_eval=True, **changes)


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
