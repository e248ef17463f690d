"""Questions with options: files, rows, scores, the command, its page's Python."""

import dataclasses
import json
import pathlib
import random
import re
import shutil

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.special import softmax

from albert_tf.errors import UserError
from albert_tf.models.classification import AlbertForMultipleChoice
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.batching import training_dataset
from albert_tf.tasks.multiple_choice import questions
from albert_tf.tasks.multiple_choice import run
from albert_tf.tasks.multiple_choice.flags import RaceOptions
from albert_tf.tasks.multiple_choice.rows import ending
from albert_tf.tasks.multiple_choice.rows import tokenize_questions
from albert_tf.tasks.multiple_choice.task import baseline_scores
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.task import Prepared
from albert_tf.tasks.tokenized_examples import TokenizedExamples
from albert_tf.tasks.tokenized_examples import cached_tokens
from albert_tf.tokenization.tokenizer import TextRules
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.tasks.conftest import APPLIED
from tests.tasks.conftest import results

_RIGHT, _WRONG = ["sun", "moon", "star"], ["mud", "dust", "sand", "clay", "rock"]
_PIECES = [*"abcdefgh_?.", "what", "shines", *_RIGHT, *_WRONG]


@pytest.fixture(scope="session")
def words(vocabulary):
    """A WordPiece tokenizer of some words and letters."""
    return WordPieceTokenizer(vocabulary(_PIECES).encode())


def make_questions(count, seed):
    """Makes questions, as dicts of JSONL; the right option is one that shines."""
    chance, questions = random.Random(seed), []
    for number in range(count):
        options = chance.sample(_WRONG, chance.randint(1, 3))
        label = chance.randint(0, len(options))
        options.insert(label, chance.choice(_RIGHT))
        context = " ".join(chance.choices("abcdefgh", k=chance.randint(1, 9)))
        question = chance.choice(["what shines ?", "_ shines ."])
        questions.append({"id": f"q{number}", "context": context})
        questions[-1] |= {"question": question, "options": options, "label": label}
    return questions


@pytest.fixture
def write_jsonl(tmp_path):
    """Writes questions to a file of the folder `data`."""
    (tmp_path / "data").mkdir()

    def write(name, questions):
        path = tmp_path / "data" / name
        path.write_text("".join(json.dumps(one) + "\n" for one in questions))
        return path

    return write


@pytest.fixture
def flags(tmp_path, write_jsonl, tiny_model, command):
    """Runs the command with flags; the defaults are a complete tiny task."""
    for seed, (role, count) in enumerate((("train", 64), ("dev", 20), ("test", 12))):
        write_jsonl(f"{role}.jsonl", make_questions(count, seed))
    return command(
        RaceOptions,
        task_name="custom",
        data_dir=tmp_path / "data",
        **tiny_model(_PIECES),
        max_seq_length=16,
        max_qa_length=6,
        train_batch_size=16,
        train_step=40,
        warmup_step=4,
        save_checkpoints_steps=20,
        learning_rate=1e-2,
        dropout_prob=0,
    )


_ARTICLE = {
    "id": "high7.txt",
    "article": "a text",
    "questions": ["what ?", "_ ."],
    "options": [["a", "b", "c", "d"], ["e", "", "g", "h"]],
    "answers": ["A", "D"],
}
_QUESTION = {"context": "a text", "question": "what ?", "options": ["a", "b"]}


def read(parts, is_labelled=True, skip_bad_rows=False):
    return questions.read_questions(parts, "dev", is_labelled, skip_bad_rows)


@pytest.fixture
def race(tmp_path):
    """Writes an article of each level; returns the folder."""

    def write(high=_ARTICLE, middle=_ARTICLE, name="7.txt"):
        for level, article in (("high", high), ("middle", middle)):
            folder = tmp_path / "RACE" / "train" / level
            folder.mkdir(parents=True, exist_ok=True)
            is_data = isinstance(article, bytes)
            data = article if is_data else json.dumps(article).encode()
            (folder / name).write_bytes(data)
        return tmp_path

    return write


def test_race(race):
    folder = race(middle={**_ARTICLE, "id": "middle1.txt"})
    names = [f"{own}.txt-{place}" for own in ("middle1", "high7") for place in (0, 1)]
    for data_dir in (folder, folder / "RACE"):
        found = read(questions.race_parts(data_dir, "train"))
        assert [q.id for q in found.questions] == names
        assert found.labels.tolist() == [0, 3] * 2
        assert found.groups() == ["middle", "high"]
    own = "middle1.txt-1", "a text", "_ .", ("e", "", "g", "h"), 3, "middle"
    assert found.questions[1] == questions.Question(*own)
    assert questions.race_parts(folder, "dev") == {}
    high = read(questions.race_parts(folder, "train", ["high"]))
    assert (len(high), high.groups()) == (2, [])
    # all.txt is what the official code reads.
    race({**_ARTICLE, "id": "all"}, name="all.txt")
    found = read(questions.race_parts(folder, "train")).questions
    assert len(found) == 4 and "all-0" in [own.id for own in found]
    race(json.dumps(_ARTICLE).encode() + b"\n \n[]\n", name="all.txt")
    with pytest.raises(UserError, match="high/all.txt, line 3 is no article of RACE"):
        read(questions.race_parts(folder, "train"))


@pytest.mark.parametrize(
    ("high", "message"),
    [
        ({"answers": ["B", "E"]}, "high/7.txt, question 2: the label is 4, expected"),
        ({"answers": ["B", "Z"]}, "high/7.txt, question 2: the label is 25, expected"),
        ({"answers": ["2", "B"]}, "question 1: the answer is '2', expected a letter"),
        ({"answers": ["b", "B"]}, "the answer is 'b', expected a letter such as A"),
        ({"answers": ["AB", "B"]}, "the answer is 'AB', expected a letter"),
        ({"answers": [1, "B"]}, "the answer is 1, expected a letter"),
        ({"answers": ["B"]}, "7.txt is no article of RACE .Val.*argument 3 is shorter"),
        ({"options": None}, "7.txt is no article of RACE .Type.*; expected a JSON"),
        ({"options": [["a"], ["b", "c"]]}, "the question has 1 option.s., expected 2"),
        (b"[]", "7.txt is no article of RACE .*; expected"),
        (b"\xff", "7.txt is not UTF-8"),
    ],
)
def test_bad_articles(race, high, message):
    folder = race(high if isinstance(high, bytes) else {**_ARTICLE, **high})
    with pytest.raises(UserError, match=message):
        read(questions.race_parts(folder, "train"))
    (folder / "RACE" / "train" / "high" / "7.txt").unlink()
    with pytest.raises(UserError, match="high has no article; expected all.txt, or"):
        read(questions.race_parts(folder, "train"))


def write_c3(folder, *documents, part="d"):
    path = folder / f"c3-{part}-train.json"
    path.write_text(json.dumps(documents), encoding="utf-8")


_C3 = {"question": "什么?", "choice": ["旅行", "工作"], "answer": "工作"}


def test_c3(tmp_path):
    assert questions.c3_parts(tmp_path, "train") == {}
    write_c3(tmp_path, [["男：你", "女：我"], [_C3, _C3], "47-1"])
    found = read(questions.c3_parts(tmp_path, "train"))
    assert [q.id for q in found.questions] == ["47-1-0", "47-1-1"]
    assert found.questions[0].context == "男：你\n女：我"
    assert (found.labels.tolist(), found.groups()) == ([1, 1], [])
    write_c3(tmp_path, [["文"], [_C3], "1"], part="m")
    found = read(questions.c3_parts(tmp_path, "train"))
    assert [q.group for q in found.questions] == ["dialogue", "dialogue", "mixed"]
    assert found.groups() == ["dialogue", "mixed"]
    options = RaceOptions(output_dir="out", data_dir=str(tmp_path), task_name="c3")
    assert run._read(options, "train") == dataclasses.replace(found, role="train")
    with pytest.raises(UserError, match="has no c3-d-dev.json or c3-m-dev.json; name"):
        run._read(options, "dev")


@pytest.mark.parametrize(
    ("document", "message", "is_question"),
    [
        ([["a"], [{**_C3, "answer": "家庭"}], "1"], "document '1', question 1", True),
        # No result file could hold this id.
        ([["a"], [_C3], "\ud800"], "question 1: a text is not UTF-8", True),
        ([["a"], [_C3]], "document 1 is not a document of C3 .*; expected", False),
        ([[1], [_C3], "1"], "document 1 is not a document of C3", False),
        (["a b", [_C3], "1"], "document of C3 .'a b' is no list of texts.; exp", False),
        ([["a"], ["b"], "1"], "document 1 is not a document of C3", False),
        ([["a"], [], "1"], "holds no usable question", False),
    ],
)
def test_bad_documents(tmp_path, document, message, is_question):
    write_c3(tmp_path, document)
    with pytest.raises(UserError, match=message) as error:
        read(questions.c3_parts(tmp_path, "train"))
    str(error.value).encode()
    if is_question:
        write_c3(tmp_path, document, [["a"], [_C3], "2"])
        found = read(questions.c3_parts(tmp_path, "train"), skip_bad_rows=True)
        assert (len(found), found.num_skipped) == (1, 1)


def test_jsonl(write_jsonl):
    more = {"context": "b", "options": ["x", "y", "z"], "label": "z", "id": 12}
    path = write_jsonl("train.jsonl", [{**_QUESTION, "label": 1}, more])
    assert questions.jsonl_parts(path.parent, "dev") == {}
    first, second = read(questions.jsonl_parts(path.parent, "train")).questions
    assert (first.id, first.label, first.options) == ("0", 1, ("a", "b"))
    # Without a question, an option ends the context.
    assert (second.id, second.text, second.label) == ("12", "", 2)
    found = read(questions.jsonl_parts(path.parent, "train"), is_labelled=False)
    assert (len(found), found.labels) == (2, None)
    found = _TASK.read(str(path))
    assert (found.labels.tolist(), found.role) == ([1, 2], "dev")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": 2}, "train.jsonl, line 2: the label is 2, .* from 0 to 1"),
        ({"label": -2}, "the label is -2, expected"),
        ({"label": -1}, "line 2: the question has no label; correct the row, or leave"),
        ({"label": ""}, "line 2: the question has no label; correct the row, or leave"),
        ({"label": True}, "the label is True, expected the text of an option or"),
        ({"label": "c"}, "the answer 'c' is not one of the options"),
        ({}, "line 2: the question has no label; correct the row, or leave"),
        ({"options": []}, "the question has 0 option.s., expected 2 or more"),
        ({"options": ["a", ""]}, "an option is empty"),
        ({"options": ["a", 1]}, "the options are .'a', 1., not a list of texts"),
        ({"context": None}, "the context is None, not a text"),
        ({"context": "a\0b"}, "a text holds a NUL byte"),
        ({"context": "\ud800"}, "the line is not UTF-8, or holds half of a"),
    ],
)
def test_bad_lines(write_jsonl, changes, message):
    good = {**_QUESTION, "label": 0}
    bad = {**_QUESTION, **({"label": 0} if changes else {}), **changes}
    path = write_jsonl("train.jsonl", [good, bad])
    with pytest.raises(UserError, match=message):
        read(questions.jsonl_parts(path.parent, "train"))
    found = read(questions.jsonl_parts(path.parent, "train"), skip_bad_rows=True)
    assert (len(found), found.num_skipped) == (1, 1)


def question(context, text, *options, label=0, group=None):
    return questions.Question(context[0], context, text, options, label, group)


def rows_of(tokens, tokenizer):
    """The pieces of each row, a list by question and option."""
    return [
        [
            " ".join(tokenizer.pieces[i] for i in tokens.ids[start : start + length])
            for start, length in zip(starts, lengths, strict=True)
            if length
        ]
        for starts, lengths in zip(tokens.starts, tokens.lengths, strict=True)
    ]


def test_endings(words, english):
    assert ending("what ?", "sun", words) == "what ? sun"
    assert ending("_ or _ ?", "sun", words) == "sun or sun ?"
    # WordPiece normalizes words only, so that a full-width line is no blank for it.
    assert ending("＿ ?", " sun", words) == "＿ ?  sun"
    assert ending("The  ＿ shínes", " Sun ", english) == "the sun shines"
    assert ending("What ?", "", english) == "what ? "


def test_the_text_gives_way_and_then_the_beginning_of_the_question(words, vocabulary):
    asked = [
        question("a b c d e", "what shines ?", "sun", "mud"),
        question("f g", "_", "sand dust clay rock moon star"),
        question("a b c d e", "", "sun", "mud", "dust"),
    ]
    tokens = tokenize_questions(asked, words, 10, 4)
    assert rows_of(tokens, words) == [
        [f"[CLS] a b c [SEP] what shines ? {own} [SEP]" for own in ("sun", "mud")],
        ["[CLS] f g [SEP] clay rock moon star [SEP]"],
        [f"[CLS] a b c d e [SEP] {own} [SEP]" for own in ("sun", "mud", "dust")],
    ]
    assert tokens.lengths.tolist() == [[10, 10, 0], [9, 0, 0], [9, 9, 9]]
    assert tokens.first_lengths.tolist() == [[5, 5, 0], [4, 0, 0], [7, 7, 7]]
    assert tokens.sizes.tolist() == [2 * 11 + 10, 11 + 9, 3 * 11 + 9]
    with pytest.raises(UserError, match="max_seq_length=7 leaves no room for a text"):
        tokenize_questions(asked, words, 7, 4)
    assert tokenize_questions(asked, words, 8, 4).lengths.max() == 8
    # A served model that does not know its own length leaves a token to the text.
    for longest, kept in ((128, 6), (6, 6), (5, 5)):
        task = create_task("multiple_choice", "race", max_qa_length=longest)
        assert task.text_features(words, 10).max_qa_length == kept
    # A vocabulary may keep the ends of texts.
    rules = TextRules(truncation_side="left")
    left = WordPieceTokenizer(vocabulary(_PIECES).encode(), rules=rules)
    rows = rows_of(tokenize_questions(asked[:2], left, 10, 4), left)
    assert rows == [
        [f"[CLS] c d e [SEP] what shines ? {own} [SEP]" for own in ("sun", "mud")],
        ["[CLS] f g [SEP] clay rock moon star [SEP]"],
    ]


def test_cached_rows_never_meet_another_length_of_questions(
    write_jsonl, words, tmp_path
):
    asked = {**_QUESTION, "question": "what shines ?", "options": ["sun", "mud"]}
    parts = questions.jsonl_parts(write_jsonl("dev.jsonl", [asked]).parent, "dev")
    examples = read(parts, is_labelled=False)
    for longest in (4, 2):
        task = create_task("multiple_choice", "race", max_qa_length=longest)
        found = cached_tokens(task, examples, words, 12, tmp_path / "cached")
        made = task.tokenize(examples, words, 12)
        np.testing.assert_array_equal(found.ids, made.ids)


@pytest.mark.parametrize("layout", ["all_txt", "one_file_an_article"])
@pytest.mark.parametrize("role", ["train", "dev", "test"])
def test_features_equal_the_official_ones(layout, role, shared, english):
    folder = shared("fixtures/official_race")
    examples = read(questions.race_parts(folder / layout, role))
    tokens = tokenize_questions(examples.questions, english, 128, 32)
    expected = dict(np.load(folder / f"features_{role}.npz"))
    np.testing.assert_array_equal(examples.labels, expected.pop("label_ids"))
    [batch] = evaluation_dataset(tokens, 64, 128, pad_to_max_length=True)
    for name, values in expected.items():
        np.testing.assert_array_equal(batch[name], values, name)


def made(counts, longest=12):
    """`TokenizedExamples` with so many options; the label is the question's number."""
    random = np.random.default_rng(0)
    lengths = np.zeros((len(counts), max(counts)), np.int32)
    for row, count in enumerate(counts):
        lengths[row, :count] = random.integers(4, longest + 1, count)
    starts = np.cumsum(lengths).reshape(lengths.shape) - lengths
    ids = np.arange(1, lengths.sum() + 1, dtype=np.int32)
    numbers = np.arange(len(counts), dtype=np.int32)
    starts = starts.astype(np.int64)
    return TokenizedExamples(ids, starts, lengths, lengths // 2, numbers)


def test_batches_have_as_many_options_as_one_of_their_questions():
    counts = np.random.default_rng(1).choice([2, 3, 4], 96)
    examples = made(counts.tolist())
    seen, sizes, places = [], [], np.arange(12)
    for batch in training_dataset(examples, 8, 12, seed=3, repeat=False):
        numbers = batch["labels"].numpy()
        seen.extend(numbers)
        sizes.append(set(counts[numbers].tolist()))
        options = counts[numbers].max()
        lengths = examples.lengths[numbers, :options, None]
        real = places < lengths
        np.testing.assert_array_equal(batch["input_mask"], real)
        ids = examples.starts[numbers, :options, None] + places + 1
        np.testing.assert_array_equal(batch["input_ids"], np.where(real, ids, 0))
        segments = real & (places >= lengths // 2)
        np.testing.assert_array_equal(batch["segment_ids"], segments)
    assert sorted(seen) == list(range(96))
    # Questions with as many options meet: only where one number ends are there two.
    assert sum(len(found) > 1 for found in sizes) <= 2
    # One shape for TPUs.
    dataset = training_dataset(made([2, 4, 3]), 2, 16, seed=3, pad_to_max_length=True)
    assert dataset.element_spec["input_ids"].shape == (2, 4, 16)


_QUESTIONS = (
    question("x <b>", "why & how?", "no", "a long one", "yes", label=1, group="high"),
    question("y", "what?", "one", "two", label=1, group="middle"),
    question("z", "who?", "me", "you", "us", "they", group="high"),
)
_LENGTHS = np.array([[5, 5, 5, 0], [5, 5, 0, 0], [5, 5, 5, 5]], np.int32)
# Where a question has no option, batches of others leave 0.
_OUTPUTS = np.array([[-3, -1, -2, 0], [-1, -2, 0, 0], [-1, -2, -2, -2]], np.float32)
_TASK = create_task("multiple_choice", "race")


@pytest.fixture
def prepared():
    nothing, labels = np.zeros_like(_LENGTHS), np.array([1, 1, 0], np.int32)
    tokens = TokenizedExamples(nothing, nothing, _LENGTHS, nothing, labels)
    return Prepared(questions.ChoiceFile("some.jsonl", _QUESTIONS), tokens)


def test_scores_and_guesses(prepared):
    scores = _TASK.score(prepared, _TASK.interpret(prepared, _OUTPUTS))
    assert scores["accuracy"] == pytest.approx(2 / 3)
    assert (scores["high_accuracy"], scores["middle_accuracy"]) == (1.0, 0.0)
    losses = [
        -log_softmax(row[: len(question.options)])[question.label]
        for question, row in zip(_QUESTIONS, _OUTPUTS.astype(float), strict=True)
    ]
    assert scores["loss"] == pytest.approx(np.mean(losses), abs=1e-7)
    # One group is not scored twice.
    examples = questions.ChoiceFile("some.jsonl", _QUESTIONS[::2])
    one = Prepared(examples, prepared.tokens.take(np.array([0, 2])))
    scores = _TASK.score(one, _TASK.interpret(one, _OUTPUTS[::2]))
    assert "high_accuracy" not in scores
    assert baseline_scores(_QUESTIONS) == {
        "random_accuracy": pytest.approx((1 / 3 + 1 / 2 + 1 / 4) / 3),
        "longest_accuracy": pytest.approx(1 / 3),
        "position_accuracy": pytest.approx(2 / 3),
    }


def test_predictions_and_the_page_of_errors(prepared, tmp_path):
    interpreted = _TASK.interpret(prepared, _OUTPUTS)
    _TASK.write_predicted(tmp_path, "x_", prepared, interpreted)
    lines = (tmp_path / "x_predictions.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    names = ("id", "choice", "answer")
    expected = [("x", 1, "a long one"), ("y", 0, "one"), ("z", 0, "me")]
    assert [tuple(map(line.get, names)) for line in found] == expected
    assert found[1]["probabilities"] == pytest.approx(softmax([-1.0, -2.0]))
    _TASK.write_scored(tmp_path, "dev", prepared, interpreted)
    page = (tmp_path / "dev_errors.html").read_text()
    assert "<title>race: some.jsonl</title>" in page
    assert "1 of 3 answers are wrong" in page
    assert page.count("<article>") == 1
    assert '<li><mark class="predicted">one</mark> 0.731</li>' in page
    assert '<li><mark class="gold">two</mark> 0.269</li>' in page
    # A text is no HTML.
    _TASK.write_scored(tmp_path, "dev", prepared, _TASK.interpret(prepared, -_OUTPUTS))
    page = (tmp_path / "dev_errors.html").read_text()
    assert "why &amp; how?" in page and "x &lt;b&gt;" in page


def predictions(out):
    lines = (out / "predictions.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.slow
def test_learned_applied_and_found_again(flags, write_jsonl, tmp_path):
    out = flags(do_train=True, do_eval=True, do_predict=True)
    scores = results(out)
    assert scores["eval_accuracy"] >= 0.9
    assert scores["eval_accuracy"] > scores["longest_accuracy"]
    test, found = make_questions(12, 2), predictions(out)
    right = sum(p["choice"] == q["label"] for p, q in zip(found, test, strict=True))
    assert scores["test_accuracy"] == pytest.approx(right / 12)
    assert (out / "test_errors.html").exists()
    # Scores on test have their own names, and leave those on dev of the model alone.
    flags(do_predict=True)
    assert results(out) == scores
    # A test set without labels is predicted, and not scored; rows are those of
    # training, whatever the flags say.
    write_jsonl("test.jsonl", [{**own, "label": -1} for own in test])
    model = {**APPLIED, "init_checkpoint": out / "model"}
    flags(do_predict=True, output_dir=tmp_path / "other", max_qa_length=1, **model)
    assert predictions(tmp_path / "other") == found
    assert not (tmp_path / "other" / "eval_results.txt").exists()


@pytest.mark.parametrize("only", [None, "high", "middle"])
def test_flags_are_settings_of_the_task_and_levels(only, shared, write_jsonl):
    for role in ("train", "dev", "test"):
        path = write_jsonl(f"{role}.jsonl", make_questions(8, 3))
    values = {"output_dir": "out", "data_dir": path.parent, "task_name": "custom"}

    def read_folder(**changes):
        return run._read_folder(RaceOptions(**{**values, **changes}))

    task, examples = read_folder(do_eval=True, max_qa_length=6, dropout_prob=0.25)
    assert (task.name, task.max_qa_length) == ("custom", 6)
    assert task.model_arguments()["classifier_dropout_prob"] == 0.25
    assert [*examples] == ["dev"]
    unlabelled = [{**own, "label": -1} for own in make_questions(2, 3)]
    write_jsonl("train.jsonl", unlabelled)
    with pytest.raises(UserError, match="line 1: the question has no label"):
        read_folder(do_train=True)
    write_jsonl("train.jsonl", make_questions(8, 3))
    _, examples = read_folder(do_train=True, do_predict=True)
    assert {*examples} == {"train", "dev", "test"}
    folder = shared("fixtures/official_race/one_file_an_article")
    asked = {f"{level}_only": level == only for level in ("high", "middle")}
    asked |= {"task_name": "race", "data_dir": folder}
    _, examples = read_folder(do_eval=True, do_predict=True, **asked)
    assert examples["test"].is_labelled
    found = [question.group for question in examples["dev"].questions]
    assert {*found} == ({only} if only else {"high", "middle"})
    assert len(found) == (15 if only else 30)


@pytest.mark.slow
@pytest.mark.nightly
def test_the_examples_of_the_page(project, tmp_path, tiny_config, monkeypatch):
    """On a Hugging Face directory with nothing but their files."""
    monkeypatch.chdir(tmp_path)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    page = "在意大利正式场合端上来的比萨是没有切开用刀和叉吃"
    pieces += dict.fromkeys(page + "拿手里勺子倒进碗喝。，")
    sizes = {"max_position_embeddings": 64, "initializer_range": 0.5}
    config = tiny_config(vocab_size=len(pieces), num_hidden_layers=1, **sizes)
    model = AlbertForMultipleChoice(config)
    model.save_pretrained("albert_chinese", format="huggingface")
    pathlib.Path("albert_chinese", "vocab.txt").write_text("\n".join(pieces) + "\n")
    export(ExportOptions("albert_chinese", "served/race"))
    page = (project / "docs" / "multiple_choice.md").read_text()
    demonstration, client = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    names = {}
    exec(compile(demonstration, "multiple_choice.md", "exec"), names)
    # No character is unknown, and each row has the prompt and its own choice.
    rows = names["tokenizer"].decode(names["encoding"]["input_ids"], True)
    assert len(set(rows)) == 4
    pooled = model.albert(names["encoding"])["pooled_output"].numpy()
    expected = softmax(pooled @ model.classifier.output_weights.numpy()[0])
    np.testing.assert_allclose(names["probabilities"], [expected], atol=1e-5)
    shutil.rmtree("albert_chinese")
    exec(compile(client, "multiple_choice.md", "exec"), names)
    answers = names["answers"]
    assert answers["choice"].shape == (2,)
    assert answers["probabilities"].numpy()[0, 2] == 0
