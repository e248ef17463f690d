"""Tags and entities: as conlleval and seqeval count them, legal or not."""

import itertools

import numpy as np
import pytest

from albert_tf.tasks.metrics import entity_scores
from albert_tf.tasks.metrics import tag_scores
from albert_tf.tasks.tagging import schemes

# What conlleval.pl counts, with an entity's first word and the one after its last.
_COUNTED = [
    # IOB1, IOB2 and BIOES.
    ("I-A I-A B-A O I-B", [("A", 0, 2), ("A", 2, 3), ("B", 4, 5)]),
    ("B-A I-A B-A O B-B", [("A", 0, 2), ("A", 2, 3), ("B", 4, 5)]),
    ("B-A E-A S-A O S-B", [("A", 0, 2), ("A", 2, 3), ("B", 4, 5)]),
    # Illegal ones: another type, an end without a beginning, no end.
    ("B-A I-B I-B", [("A", 0, 1), ("B", 1, 3)]),
    ("O E-A I-A O", [("A", 1, 2), ("A", 2, 3)]),
    ("B-A I-A S-A E-A", [("A", 0, 2), ("A", 2, 3), ("A", 3, 4)]),
    ("E-A E-A B-A", [("A", 0, 1), ("A", 1, 2), ("A", 2, 3)]),
    ("O O", []),
    ("", []),
]


@pytest.mark.parametrize(("tags", "entities"), _COUNTED)
def test_entities_of_tags(tags, entities):
    assert schemes.entities_of(tags.split()) == entities


def test_scores_by_hand():
    """Worked out as conlleval does: 3 expected, 4 found, 2 right."""
    gold = [
        schemes.entities_of(["B-A", "I-A", "O", "B-B"]),
        schemes.entities_of(["B-A"]),
    ]
    found = [
        schemes.entities_of(["B-A", "I-A", "B-A", "I-B"]),
        schemes.entities_of(["B-A"]),
    ]
    scores = entity_scores(gold, found, types=["C"])
    assert scores["precision"] == 3 / 4
    assert (scores["recall"], scores["f1"]) == (1, 6 / 7)
    assert (scores["A_precision"], scores["A_recall"]) == (2 / 3, 1)
    assert (scores["B_f1"], scores["C_f1"]) == (1, 0)


def test_scores_are_those_of_seqeval():
    from seqeval import metrics

    random = np.random.default_rng(0)
    for scheme in schemes.ENTITY_SCHEMES:
        tags = schemes.all_tags(["A", "B-C"], scheme)
        gold, found = (
            [list(random.choice(tags, size)) for size in range(1, 60)] for _ in "ab"
        )
        # Of random tags hardly one entity would be right.
        for one, other in zip(gold[::2], found[::2], strict=True):
            other[: len(one) // 2] = one[: len(one) // 2]
        scores = entity_scores(
            map(schemes.entities_of, gold), map(schemes.entities_of, found)
        )
        report = metrics.classification_report(
            gold, found, output_dict=True, zero_division=0
        )
        for name, prefix in (("micro avg", ""), ("A", "A_"), ("B-C", "B-C_")):
            for figure, theirs in (("precision",) * 2, ("recall",) * 2):
                assert scores[prefix + figure] == pytest.approx(report[name][theirs])
            assert scores[prefix + "f1"] == pytest.approx(report[name]["f1-score"])


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
    texts = [("line 1", ["B-A", "O"]), ("line 9", ["O", "I-B"])]
    with pytest.raises(ValueError) as error:
        schemes.find_scheme(texts)
    assert str(error.value) == (
        "iob2 does not allow I-B after O (line 9); "
        "iob1 does not allow B-A after O (line 1)"
    )
    with pytest.raises(ValueError, match=r"^bioes does not allow O after B-A \(x\)$"):
        schemes.find_scheme([("x", ["S-A", "B-A"])])
    assert (
        schemes.find_scheme([("here", ["B-A", "O"])]) == "iob2"
    )  # the first that fits


@pytest.mark.parametrize("scheme", schemes.ENTITY_SCHEMES)
def test_the_legal_decoder_finds_the_best_legal_sequence(scheme):
    labels = schemes.all_tags("AB", scheme)
    allowed = schemes.steps(labels, scheme, "legal")
    random = np.random.default_rng(1)
    changed = 0
    for count in (1, 2, 3, 3, 4, 4):
        logits = random.normal(size=(count, len(labels))).astype(np.float32)
        greedy = schemes.best_tags(logits, labels, None)
        legal = schemes.best_tags(logits, labels, allowed)
        best = max(
            (
                path
                for path in itertools.product(range(len(labels)), repeat=count)
                if all(
                    schemes.is_legal(before, after, scheme)
                    for before, after in itertools.pairwise(
                        ["O", *(labels[tag] for tag in path), "O"]
                    )
                )
            ),
            key=lambda path: sum(logits[range(count), path]),
        )
        assert legal.tolist() == list(best)
        changed += legal.tolist() != greedy.tolist()
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


def test_scores_of_plain_tags_are_those_of_scikit_learn():
    expected = ["A", "B", "B", "C", "A", "new", None, "A"]
    found = ["A", "B", "A", "A", "A", "B", "D", "B"]
    # accuracy_score and f1_score(average="macro") of scikit-learn 1.9.1; of the word
    # whose tag nobody knows there is nothing to score.
    golden = {"accuracy": 3 / 7, "macro_f1": 0.24285714285714285}
    assert tag_scores(expected, found) == pytest.approx(golden, abs=1e-12)
    assert tag_scores([None], ["A"]) == {"accuracy": 0.0, "macro_f1": 0.0}
