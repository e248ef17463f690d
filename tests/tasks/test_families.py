"""Rows of RoBERTa and XLNet, in Python and in graphs; a fine-tuned XLNet."""

import json

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.errors import UserError
from albert_tf.models.base import seeded
from albert_tf.row_layout import CLS_LAST
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.multiple_choice.questions import Question as Choice
from albert_tf.tasks.multiple_choice.rows import tokenize_questions
from albert_tf.tasks.multiple_choice.serving import ChoiceFeatures
from albert_tf.tasks.question_answering import questions
from albert_tf.tasks.question_answering.windows import WindowSizes
from albert_tf.tasks.question_answering.windows import windows_of
from albert_tf.tasks.tagging.in_graph_entities import RowFeatures
from albert_tf.tasks.tagging.rows import tokenize_sentences
from albert_tf.tasks.tagging.sentences import sentence_of_words
from albert_tf.tasks.tokenized_examples import from_features
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization.in_graph import features
from tests.tasks.conftest import APPLIED
from tests.tasks.conftest import results
from tools.verify.squad_windows import features_of

_CONTEXT = "the film was very good and the plot was bad"


@pytest.fixture(params=["albert", "roberta", "xlnet"])
def tokenizer(request, family_tokenizer):
    return family_tokenizer(request.param)


def unpadded(tokenizer, array, width):
    """The tokens of rows `[..., tokens]` that a shorter row has."""
    return array[..., -width:] if tokenizer.layout.pads_left else array[..., :width]


@pytest.mark.parametrize("length", [40, 12])
def test_pairs(tokenizer, length):
    texts, pairs = ["the film sat on the mat", "a"], ["the plot was bad", ""]
    rows = tokenizer(texts, pairs, max_length=length, padding=False)
    expected = tokenizer(texts, pairs, max_length=length)
    strings = tf.constant(texts), tf.constant(pairs)
    found = features.TextFeatures(tokenizer, length)(*strings)
    made = tokenize_texts(texts, pairs, tokenizer, length)
    for examples in (made, from_features(rows, tokenizer)):
        assert examples.layout == tokenizer.layout
        assert examples.pad_id == tokenizer.pad_id
        [batch] = evaluation_dataset(examples, 2, length)
        for name, array in expected.items():
            own = unpadded(tokenizer, batch[name], array.shape[1])
            np.testing.assert_array_equal(own, array, name)
            np.testing.assert_array_equal(found[name], array, name)


@pytest.mark.parametrize(("length", "room"), [(60, 30), (9, 4)])
def test_choices(tokenizer, length, room):
    asked = [
        Choice("1", "the film was good", "it was _", ("good", "very bad", "a"), 0),
        Choice("2", "it", "_ is .", ("not", "a"), 1),
    ]
    tokens = tokenize_questions(asked, tokenizer, length, room)
    [batch] = evaluation_dataset(tokens, 2, length)
    found = ChoiceFeatures(tokenizer, length, room)(
        tf.constant([own.text for own in asked]),
        tf.constant([own.context for own in asked]),
        tf.constant([[*own.options, ""][:3] for own in asked]),
    )
    exists = tokens.lengths > 0
    for name, array in found.items():
        own = unpadded(tokenizer, batch[name].numpy(), array.shape[2])
        np.testing.assert_array_equal(own[exists], array.numpy()[exists], name)
    assert found["input_mask"].numpy().sum() == tokens.lengths.sum()
    if length == 60:
        endings = [asked[0].text.replace("_", own) for own in asked[0].options]
        for name, array in tokenizer([asked[0].context] * 3, endings).items():
            own = unpadded(tokenizer, found[name][0], array.shape[1])
            np.testing.assert_array_equal(own, array, name)


def test_words_and_masks_of_roberta(family_tokenizer):
    """Words have the space before them."""
    roberta, words = family_tokenizer("roberta"), ["the", "cat", "didn't"]
    sentence = sentence_of_words("1", words, None, None)
    expected = [0, *(i for word in words for i in roberta.encode(f" {word}")), 2]
    assert tokenize_sentences([sentence], roberta, 30, 10).ids.tolist() == expected
    found = RowFeatures(roberta, 30, 10)(tf.constant(["the cat didn't"]))
    assert found["input_ids"][0].numpy().tolist() == expected
    assert features.mark_of(roberta) == "<mask>"
    texts = ["the cat <mask> on the <mask>", "a <mask>"]
    expected = roberta(texts)
    found = features.MaskedTextFeatures(roberta, 30)(tf.constant(texts))
    np.testing.assert_array_equal(found["input_ids"], expected["input_ids"])
    places = np.flatnonzero(expected["input_ids"][0] == roberta.mask_id)
    assert found["masked_lm_positions"][0].numpy().tolist() == places.tolist()


def test_sentences_of_xlnet_in_windows(xlnet_tokenizer):
    words = ["the", "film", "was", "very", "good"]
    sentence = sentence_of_words("1", words, None, None)
    rows = tokenize_sentences([sentence], xlnet_tokenizer, 6, 3)
    sep, cls = xlnet_tokenizer.sep_id, xlnet_tokenizer.cls_id
    ids = [piece for word in words for piece in xlnet_tokenizer.encode(word)]
    assert rows.ids.tolist() == [*ids[:4], sep, cls, *ids[3:], sep, cls]
    assert rows.words.tolist() == [0, 1, 2, 3, -1, -1, 3, 4, -1, -1]
    [batch] = evaluation_dataset(rows, 2, 6)
    expected = [[0, 0, 0, 0, 0, 2], [0, 0, 0, 2, 3, 3]]
    assert batch["segment_ids"].numpy().tolist() == expected
    graph = RowFeatures(xlnet_tokenizer, 6, 3)
    found, *_, first = graph.windows(tf.constant([sentence.text]))
    for name, array in found.items():
        np.testing.assert_array_equal(array, batch[name], name)
    expected = [[0, 1, 2, 3, -1, -1], [-1, 4, -1, -1, -1, -1]]
    assert first.numpy().tolist() == expected


def test_windows_of_xlnet_begin_with_the_text(xlnet_tokenizer):
    answers = (questions.Answer("the plot", _CONTEXT.index("the plot")),)
    first = questions.Question("1", "is it good", answers)
    second = questions.Question("2", "it", (), is_impossible=True)
    paragraphs = [questions.Paragraph(_CONTEXT, (first, second))]
    sizes = WindowSizes(max_seq_length=10, doc_stride=3, max_query_length=2)
    [windows] = windows_of(paragraphs, xlnet_tokenizer, sizes, {}, True)
    text, asked = (xlnet_tokenizer.encode(t) for t in (_CONTEXT, "is it"))
    sep, cls = xlnet_tokenizer.sep_id, xlnet_tokenizer.cls_id
    rows = features_of(windows, 10)
    assert windows.layout == CLS_LAST.padded_after
    assert len(text) == 10 and windows.question_index.tolist() == [0, 0, 0, 1, 1, 1]
    spans = xlnet_tokenizer.encode_with_offsets(_CONTEXT)[1]
    for window, first in enumerate((0, 3, 6)):
        part = text[first : first + 5]
        row = [*part, sep, *asked, sep, cls]
        length = len(row)
        found = {name: array[window].tolist() for name, array in rows.items()}
        assert found["input_ids"][:length] == row
        segments = [0] * (len(part) + 1) + [1] * 3 + [2] + [3] * (10 - length)
        assert found["segment_ids"] == segments
        assert sum(found["input_mask"]) == length
        assert found["p_mask"] == [0] * len(part) + [1] * 4 + [0] + [1] * (10 - length)
        own = windows.spans[windows.starts[window] :][: len(part)]
        np.testing.assert_array_equal(own, spans[first : first + 5])
    # "the plot" are the tokens 6 and 7 of the text; without answer it is [CLS].
    assert windows.answers[1:3].tolist() == [[3, 4, 0], [0, 1, 0]]
    without = np.array([0, 3, 4, 5])
    ends = windows.lengths[without] - 1
    expected = np.stack([ends, ends, np.ones(4)], axis=1)
    np.testing.assert_array_equal(windows.answers[without], expected)


@pytest.mark.slow
def test_from_a_directory_to_answers(flags, xlnet_tokenizer, xlnet_config, tmp_path):
    """Fine-tunes a tiny XLNet as pretraining leaves it."""
    sizes = {"n_layer": 1, "d_head": 8, "initializer_range": 0.1}
    config = xlnet_config(**sizes, mem_len=6, bi_data=True)
    pretrained = tmp_path / "pretrained"
    with seeded(1):
        model = albert_tf.XLNetLMHeadModel(config)
    model.save_pretrained(pretrained, xlnet_tokenizer)
    steps = {"train_step": 30, "save_checkpoints_steps": 30, "learning_rate": 1e-2}
    asked = {"do_train": True, "do_eval": True, "do_predict": True}
    start = {**APPLIED, "init_checkpoint": pretrained}
    config.to_json_file(tmp_path / "xlnet.json")
    message = "becomes an XLNetForSequenceClassification"
    for changes in ({"early_exit": True}, {"init_layers": "mean"}):
        changes["albert_config_file"] = tmp_path / "xlnet.json"
        with pytest.raises(UserError, match=message):
            flags(do_train=True, **{**start, **changes})
    out = flags(**asked, **steps, **start)
    assert results(out)["eval_accuracy"] == 1.0
    head = json.loads((out / "model" / "head.json").read_text())
    assert head["labels"] == ["no", "yes"]
    texts, expected = (
        [line.split("\t")[1:] for line in path.read_text().splitlines()[1:]]
        for path in (tmp_path / "data" / "test.tsv", out / "test_results.tsv")
    )
    predictor = albert_tf.Predictor(out / "model")
    answers = predictor(sum(texts, []), batch_size=7)  # not even: no halves
    shares = [list(answer["probabilities"].values()) for answer in answers]
    np.testing.assert_allclose(shares, np.array(expected, float), atol=1e-5)
    before, after = (
        albert_tf.XLNetModel.from_pretrained(folder).official_variables()
        for folder in (pretrained, out / "model")
    )
    still = {name for name in before if np.array_equal(before[name], after[name])}
    assert still == {"model/transformer/mask_emb/mask_emb"}
