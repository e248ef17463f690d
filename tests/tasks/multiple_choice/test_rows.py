"""Rows of questions and options: endings, truncation, batches of any many options."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.batching import training_dataset
from albert_tf.tasks.multiple_choice.questions import ChoiceFile
from albert_tf.tasks.multiple_choice.questions import Question
from albert_tf.tasks.multiple_choice.questions import race_parts
from albert_tf.tasks.multiple_choice.questions import read_questions
from albert_tf.tasks.multiple_choice.rows import ending
from albert_tf.tasks.multiple_choice.rows import tokenize_questions
from albert_tf.tasks.multiple_choice.serving import ChoiceFeatures
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tokenized_examples import TokenizedExamples
from albert_tf.tasks.tokenized_examples import cached_tokens


def question(context, text, *options, label=0):
    return Question("id", context, text, options, label)


def rows_of(tokens, tokenizer):
    """The pieces of each row, a list by question and option."""
    found = []
    for starts, lengths in zip(tokens.starts, tokens.lengths, strict=True):
        rows = [
            " ".join(tokenizer.pieces[i] for i in tokens.ids[start : start + length])
            for start, length in zip(starts, lengths, strict=True)
            if length
        ]
        found.append(rows)
    return found


def test_endings(words, english):
    assert ending("what ?", "sun", words) == "what ? sun"
    assert ending("_ or _ ?", "sun", words) == "sun or sun ?"
    # WordPiece normalizes words only, so that a full-width line is no blank for it.
    assert ending("＿ ?", " sun", words) == "＿ ?  sun"
    assert ending("The  ＿ shínes", " Sun ", english) == "the sun shines"
    assert ending("What ?", "", english) == "what ? "


def test_the_text_gives_way_and_then_the_beginning_of_the_question(words):
    questions = [
        question("a b c d e", "what shines ?", "sun", "mud"),
        question("f g", "_", "sand dust clay rock moon star"),
        question("a b c d e", "", "sun", "mud", "dust"),
    ]
    tokens = tokenize_questions(questions, words, 10, 4)
    assert rows_of(tokens, words) == [
        [
            "[CLS] a b c [SEP] what shines ? sun [SEP]",
            "[CLS] a b c [SEP] what shines ? mud [SEP]",
        ],
        ["[CLS] f g [SEP] clay rock moon star [SEP]"],
        [
            "[CLS] a b c d e [SEP] sun [SEP]",
            "[CLS] a b c d e [SEP] mud [SEP]",
            "[CLS] a b c d e [SEP] dust [SEP]",
        ],
    ]
    assert tokens.lengths.tolist() == [[10, 10, 0], [9, 0, 0], [9, 9, 9]]
    assert tokens.first_lengths.tolist() == [[5, 5, 0], [4, 0, 0], [7, 7, 7]]
    assert tokens.sizes.argsort().tolist() == [1, 0, 2]


@pytest.mark.parametrize("layout", ["all_txt", "one_file_an_article"])
@pytest.mark.parametrize("role", ["train", "dev", "test"])
def test_features_equal_the_official_ones(layout, role, shared, english):
    folder = shared("fixtures/official_race")
    parts = race_parts(folder / layout, role)
    examples = read_questions(parts)
    tokens = tokenize_questions(examples.questions, english, 128, 32)
    dataset = evaluation_dataset(tokens, 64, 128, pad_to_max_length=True)
    expected = dict(np.load(folder / f"features_{role}.npz"))
    np.testing.assert_array_equal(examples.labels, expected.pop("label_ids"))
    [batch] = dataset
    for name, values in expected.items():
        np.testing.assert_array_equal(batch[name], values, name)


@pytest.mark.slow
def test_rows_in_a_graph(words):
    asked = [
        question("a b c", "what ?", "sun", "a", "mud sand clay"),
        question("d", "_ shines .", "star", "b"),
    ]
    tokens = tokenize_questions(asked, words, 9, 4)
    [expected] = evaluation_dataset(tokens, 2, 9)
    found = ChoiceFeatures(words, 9, 4)(
        tf.constant([own.text for own in asked]),
        tf.constant([own.context for own in asked]),
        tf.constant([[*own.options, ""][:3] for own in asked]),
    )
    for name, array in found.items():
        width = array.shape[2]
        np.testing.assert_array_equal(array, expected[name][..., :width], name)
    assert found["input_mask"].numpy().sum() == tokens.lengths.sum()


def made(counts, longest=12):
    """`TokenizedExamples` with so many options; the label is the question's number."""
    random = np.random.default_rng(0)
    lengths = np.zeros((len(counts), max(counts)), np.int32)
    for row, count in enumerate(counts):
        lengths[row, :count] = random.integers(4, longest + 1, count)
    starts = np.cumsum(lengths).reshape(lengths.shape) - lengths
    return TokenizedExamples(
        ids=np.arange(1, lengths.sum() + 1, dtype=np.int32),
        starts=starts.astype(np.int64),
        lengths=lengths,
        first_lengths=lengths // 2,
        labels=np.arange(len(counts), dtype=np.int32),
    )


def test_batches_have_as_many_options_as_one_of_their_questions():
    counts = np.random.default_rng(1).choice([2, 3, 4], 96)
    examples = made(counts.tolist())
    seen, sizes = [], []
    for batch in training_dataset(examples, 8, 12, seed=3, repeat=False):
        numbers = batch["labels"].numpy()
        seen.extend(numbers)
        mask = batch["input_mask"].numpy()
        assert mask.shape[:2] == (8, counts[numbers].max())
        sizes.append(set(counts[numbers].tolist()))
        for row, number in enumerate(numbers):
            for option in range(mask.shape[1]):
                length = (
                    examples.lengths[number, option] if option < counts[number] else 0
                )
                start = examples.starts[number, option]
                assert mask[row, option].tolist() == [1] * length + [0] * (12 - length)
                ids = batch["input_ids"][row, option, :length]
                np.testing.assert_array_equal(ids, examples.ids[start : start + length])
                first = length // 2
                segments = [0] * first + [1] * (length - first) + [0] * (12 - length)
                assert batch["segment_ids"][row, option].numpy().tolist() == segments
    assert sorted(seen) == list(range(96))
    # Questions with as many options meet: only where one number ends are there two.
    assert sum(len(found) > 1 for found in sizes) <= 2


def test_one_shape_for_tpus():
    examples = made([2, 4, 3])
    dataset = training_dataset(examples, 2, 16, seed=3, pad_to_max_length=True)
    assert dataset.element_spec["input_ids"].shape == (2, 4, 16)


def test_tokens_are_cached(words, tmp_path):
    task = create_task("multiple_choice", "custom", max_qa_length=4)
    questions = (question("a b", "what ?", "sun", "mud", label=1),)
    examples = ChoiceFile("file", questions)
    first, again = (cached_tokens(task, examples, words, 10, tmp_path) for _ in "ab")
    assert first.labels.tolist() == again.labels.tolist() == [1]
    np.testing.assert_array_equal(first.lengths, again.lengths)
    assert len(list(tmp_path.glob("*.npz"))) == 1
    other = create_task("multiple_choice", "custom", max_qa_length=2)
    assert cached_tokens(other, examples, words, 10, tmp_path).lengths[0, 0] == 7
