"""From text to files: the whole command, in small; it leaves nothing half-written."""

import collections
import dataclasses
import functools
import hashlib
import random
import types
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from benchmarks import data_pipeline as benchmark
from data_pipeline import beam
from data_pipeline import create_pretraining_data as command
from data_pipeline import seeds
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.records import dataset_info
from data_pipeline.sequences import records
from data_pipeline.sequences.instances import Window
from data_pipeline.sequences.masking_options import MaskingOptions
from data_pipeline.shards import workers
from data_pipeline.shards import writing
from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import train_tokenizer
from data_pipeline.xlnet import records as stream_records


@pytest.mark.usefixtures("nothing_converted")
def test_official_records(create):
    records._compiled_masking.cache_clear()  # so that this test traces it
    data = create()
    found = data.records
    assert len(found) == data.info["counts"]["sequences"] > 100
    # The features and dtypes of the official input function.
    long = ("input_ids", "input_mask", "segment_ids", "token_boundary")
    short = ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights")
    lengths = {name: len(values) for name, values in found[0].items()}
    assert lengths == {
        **dict.fromkeys(long, 32),
        **dict.fromkeys(short, 5),
        "next_sentence_labels": 1,
    }
    for example in found:
        check_layout(example, data.tokenizer)
    predictions = [int(example["masked_lm_weights"].sum()) for example in found]
    tokens = [int(example["input_mask"].sum()) for example in found]
    budgets = [min(5, max(1, round(n * 0.15))) for n in tokens]
    # A budget is not used up where only longer words are left.
    assert all(n <= most for n, most in zip(predictions, budgets, strict=True))
    assert sum(predictions) > 0.9 * sum(budgets)


def check_layout(example, tokenizer):
    """Checks [CLS] A [SEP] B [SEP], segments, word starts, once the mask is undone."""
    ids = example["input_ids"].copy()
    real = example["masked_lm_weights"] == 1
    ids[example["masked_lm_positions"][real]] = example["masked_lm_ids"][real]
    length = int(example["input_mask"].sum())
    assert ids[0] == tokenizer.cls_id
    middle, end = np.flatnonzero(ids == tokenizer.sep_id)
    assert end == length - 1
    assert (ids[length:] == tokenizer.pad_id).all()
    segments = np.zeros(32)
    segments[middle + 1 : length] = 1
    np.testing.assert_array_equal(example["segment_ids"], segments)
    special = np.isin(ids, [tokenizer.cls_id, tokenizer.sep_id])
    starts = tokenizer.word_starts()[ids] | special
    boundary = np.where(np.arange(32) < length, starts, 0)
    np.testing.assert_array_equal(example["token_boundary"], boundary)


def test_description(made, tokenizer, examples):
    out = made()
    info = dataset_info.read(out)
    found = list(examples(out / "x.tfrecord"))
    tokens = sum(int(example["input_mask"].sum()) for example in found)
    labels = [int(example["next_sentence_labels"][0]) for example in found]
    assert info["counts"] == {
        "documents": 120,
        "sentences": info["counts"]["sentences"],
        "sequences": len(found),
        "tokens": tokens,
        "fill_rate": round(tokens / len(found) / 32, 4),
        "label_1_share": round(np.mean(labels), 4),
    }
    assert abs(np.mean(labels) - 0.5) < 0.1
    assert info["tokenizer"]["fingerprint"] == tokenizer.fingerprint()
    assert (info["dupe_factor"], info["random_seed"]) == (2, 12345)
    assert (info["max_seq_length"], info["max_predictions_per_seq"]) == (32, 5)
    assert (info["kind"], info["masking"]["masked_lm_prob"]) == ("static", 0.15)
    data = (out / "x.tfrecord").read_bytes()
    facts = {
        "bytes": len(data),
        "records": len(found),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    assert info["files"] == {"x.tfrecord": facts}
    names = ["SHA256SUMS", "dataset_info.json", "x.tfrecord"]
    assert sorted(p.name for p in out.iterdir()) == names


def test_flags_of_text_change_the_records(made):
    changes = [{}, {"random_seed": 1}, {"random_next_sentence": True}]
    folders = [made(masking="dynamic", **change) for change in changes]
    assert len({(folder / "x.tfrecord").read_bytes() for folder in folders}) == 3


def test_flags_of_the_mask_reach_it(make_options, tokenizer):
    flags = {
        "masked_lm_prob": 0.2,
        "max_predictions_per_seq": 9,
        "ngram": 2,
        "favor_shorter_ngram": False,
        "do_whole_word_mask": False,
        "do_permutation": True,
    }
    expected = MaskingOptions.of(tokenizer, **flags)
    assert make_options(**flags).masking_options() == expected


def test_seeds_are_those_of_every_version():
    digest = hashlib.blake2b(b"(12345, 'train', 7)", digest_size=8).digest()
    numbers = np.frombuffer(digest, "<u4") & 0x7FFFFFFF
    names = 12345, "train", 7
    assert seeds.derive_seed(*names) == numbers.tolist()
    assert seeds.derive_fraction(*names) == numbers[0] / 2**31


@pytest.fixture
def window():
    """1100 documents of two sentences of two tokens."""
    tokens = np.full(4 * 1100, 9, np.int32)
    segments, documents = range(0, 4401, 2), range(0, 2201, 2)
    return Window(tokens, tokens > 0, [*segments], [*documents])


@pytest.mark.parametrize(
    ("changes", "sizes"),
    [({"masking": "dynamic"}, [256] * 4 + [76]), ({"pack": True}, [1024, 76])],
)
def test_seeds_of_pairs_and_masks(changes, sizes, window, make_options, monkeypatch):
    """On which the data of every version depend."""
    make_instances = mock.Mock(wraps=records.make_instances)
    monkeypatch.setattr(records, "make_instances", make_instances)
    serialize = mock.Mock(side_effect=lambda batch, *_: [len(batch["lengths"])])
    monkeypatch.setattr(records, "_serialize", serialize)
    options = make_options(short_seq_prob=0.0, **changes)
    found = records.records(window, options, 1, (5,), collections.Counter())
    assert sum(found, []) == sizes
    assert make_instances.call_args.args[4] == seeds.derive_seed(5, "pairs")[0]
    begins = np.cumsum([0, *sizes[:-1]]).tolist()
    drawn = [call.args[2] for call in serialize.call_args_list]
    assert drawn == [seeds.derive_seed(5, "mask", begin) for begin in begins]


def test_seeds_of_streams(window, make_options, monkeypatch):
    draws = mock.Mock(wraps=random.Random)
    monkeypatch.setattr(random, "Random", draws)
    options = make_options(objective="permutation_lm", bi_data=True)
    for _ in stream_records.records(window, options, 2, (5,), collections.Counter()):
        """Each pass both ways."""
    expected = [("stream", number, way) for number in (0, 1) for way in (0, 1)]
    expected = [seeds.derive_seed(5, *names)[0] for names in expected]
    assert [call.args[0] for call in draws.call_args_list] == expected


_SHARDS_OF_THREE = [f"f/x-0000{k}-of-00003.rec" for k in range(3)]


@pytest.mark.parametrize(
    ("output_file", "num_shards", "names"),
    [
        ("f/x.rec", 1, ["f/x.rec"]),
        ("f/x.rec", 3, _SHARDS_OF_THREE),
        ("f/a, f/b,", 1, ["f/a", "f/b"]),
        ("f/a,f/b", 2, ["f/a", "f/b"]),
        ("f/a,f/b", 3, None),
        ("f/a,f/a", 1, None),
        ("f/a,g/b", 1, None),
        (",", 1, None),
    ],
)
def test_names_of_the_files(output_file, num_shards, names, make_options):
    options = make_options(output_file=output_file, num_shards=num_shards)
    if names is None:
        with pytest.raises(UserError, match="names of different files in one folder"):
            options.paths()
        return
    assert options.paths() == {"train": names}
    held_out = [f"f/held_out/{name[2:]}" for name in names]
    paths = dataclasses.replace(options, held_out_fraction=0.1).paths()
    assert paths == {"train": names, "held_out": held_out}


_STREAMS = {"objective": "permutation_lm"}


@pytest.mark.parametrize(
    ("changes", "passes", "predictions"),
    [
        ({}, 40, 77),
        ({"masking": "dynamic", "masked_lm_prob": 0.2}, 1, 102),
        (_STREAMS, 1, 85),
        ({**_STREAMS, "dupe_factor": 3, "max_predictions_per_seq": 9}, 3, 9),
        ({"dupe_factor": 5, "max_seq_length": 8, "masked_lm_prob": 0.01}, 5, 1),
        ({**_STREAMS, "max_seq_length": 8}, 1, 2),
    ],
)
def test_passes_and_predictions(changes, passes, predictions, make_options):
    usual = {"dupe_factor": None, "max_seq_length": 512}
    options = make_options(**{**usual, **changes})
    options.check()
    assert (options.passes, options.predictions) == (passes, predictions)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({**_STREAMS, "masking": "dynamic"}, "--masking=dynamic needs --objective=mas"),
        ({**_STREAMS, "ngram": 2}, "--ngram=2 needs --objective=masked_lm; leave one"),
        ({"bi_data": True}, "--bi_data=True needs --objective=permutation_lm"),
        ({"pack": True, "masking": "dynamic"}, "--pack=True needs --masking=static"),
        (
            {"official_sop": True, "random_next_sentence": True},
            "--official_sop=True needs --sentence_objective=sop",
        ),
        ({"across_documents": False}, "needs --sentence_objective=none; leave one of"),
        ({"break_sentences": True}, "needs --sentence_objective=none; leave one of"),
        (
            {**_STREAMS, "max_seq_length": 33},
            "length=33 is odd, but .* halves; pass 34",
        ),
        ({"mask_smoothing": 0.7}, "--token_counts_file need each other; pass both"),
        ({"token_counts_file": "x"}, "--token_counts_file need each other; pass both"),
        ({"ngram": 0}, "--ngram=0: "),
    ],
)
def test_flags_that_contradict_each_other(changes, message, make_options):
    with pytest.raises(UserError, match=message):
        make_options(dupe_factor=1, **changes).check()


def test_too_few_predictions_are_told_of(make_options, caplog):
    make_options(max_predictions_per_seq=5).check()
    assert not caplog.text
    make_options(max_predictions_per_seq=4).check()
    told = "=4 predicts fewer than 15% of the tokens of a full sequence; pass 5 to"
    assert told in caplog.text


def test_more_files_than_text(create, out, tmp_path, caplog):
    (tmp_path / "a.txt").write_text("The cat sat on the mat.\nThe dog ran.\n")
    path, flags = str(tmp_path / "a.txt"), {"held_out_fraction": 1e-9}
    create(input_file=path, num_shards=3, max_unknown=1.0, **flags)
    for files in ("train: 2 of 3", "held_out: 3 of 3"):
        assert f"{files} files are empty; there is too little text" in caplog.text
    assert len(list(out.rglob("*.tfrecord"))) == 6
    assert not (out / "held_out" / "dataset_info.json").exists()


def test_windows_are_reported(make_options, out, monkeypatch):
    options, done = make_options(masking="dynamic"), []
    out.mkdir()
    monkeypatch.setattr(writing, "_WINDOW_CHARACTERS", 5000)
    made_of = mock.Mock(wraps=records.records)
    monkeypatch.setattr(records, "records", made_of)
    files, paths = options.files(), options.paths()
    made = writing.write_shard(options, files, 0, paths, lambda *n: done.append(n))
    read, tokens = zip(*done, strict=True)
    assert len(done) > 3 and min(tokens) > 0
    # On which the data of every version depend.
    seeds = [call.args[3] for call in made_of.call_args_list]
    assert seeds == [(12345, "train", 0, number) for number in range(len(done))]
    assert sum(read) == sum(file.size for file in files)
    assert sum(tokens) == made["train"]["counts"]["tokens"]


def test_progress_of_some_shards(monkeypatch):
    """Two of three shares of ten bytes; 50 tokens in two seconds, 200 in four."""
    progress, clock, done = mock.MagicMock(), iter([100.0, 102.0, 104.0]), []
    shown = progress.return_value.__enter__.return_value
    shown.total = 10
    clock = types.SimpleNamespace(monotonic=clock.__next__)

    def write_shard(options, files, shard, paths, report):
        shown.done = 4 if shard else 0
        report(9, 150) if shard else report(4, 50)
        return f"made {shard}"

    in_processes = mock.Mock()
    for name, fake in (
        ("Progress", progress),
        ("time", clock),
        ("write_shard", write_shard),
        ("_write_in_processes", in_processes),
    ):
        monkeypatch.setattr(workers, name, fake)
    files = [types.SimpleNamespace(size=size) for size in (4, 6)]
    paths = {"train": ["a", "b", "c"]}
    workers.write_shards(None, files, paths, [0, 2], lambda *made: done.append(made))
    assert progress.call_args.args == (7,)
    assert done == [(0, "made 0"), (2, "made 2")]
    told = [(4, ["25 tokens/s"]), (10, ["50 tokens/s"])]
    assert [call.args for call in shown.update.call_args_list] == told
    monkeypatch.setattr(workers, "_reporter", lambda _: None)
    monkeypatch.setattr(workers, "write_shard", lambda *_: "alone")
    for shards in ([], [1], [0, 1]):
        workers.write_shards(None, files, paths, shards, lambda *_: None, workers=2)
        assert in_processes.called == (len(shards) == 2)


def test_dynamic_records_are_unmasked_and_cover_the_corpus(create, corpus_file):
    data = create(masking="dynamic", dupe_factor=None, max_seq_length=512)
    tokenizer, text = data.tokenizer, collections.Counter()
    for example in data.records:
        ids = example["input_ids"]
        assert ids[example["segment_b_start"][0] - 1] == tokenizer.sep_id
        bits = np.unpackbits(np.frombuffer(example["word_starts"][0], np.uint8))
        assert bits[len(ids) :].sum() == 0
        text.update(ids.tolist())
    assert text[tokenizer.mask_id] == 0
    assert text[tokenizer.sep_id] == 2 * text[tokenizer.cls_id]
    special = (tokenizer.cls_id, tokenizer.sep_id)
    lines = tokenizer.encode_batch(corpus_file.read_text().splitlines())
    expected = collections.Counter(i for ids in lines for i in ids)
    assert {i: n for i, n in text.items() if i not in special} == expected


def test_full_sentences(make_options, out, tokenizer, examples, lines):
    options = make_options(sentence_objective="none", masking="dynamic", dupe_factor=1)
    create_pretraining_data(options)
    for example in examples(out / "x.tfrecord"):
        ids = example["input_ids"]
        assert ids[-1] == tokenizer.sep_id != ids[-2]
        assert example["segment_b_start"][0] == len(ids)
    options = dataclasses.replace(options, break_sentences=True)
    with pytest.raises(UserError, match="other"):  # of these shards, of this folder
        create_pretraining_data(options)
    filled = str(out / "filled" / "x.tfrecord")
    create_pretraining_data(dataclasses.replace(options, output_file=filled))
    infos = [dataset_info.read(folder) for folder in (out, out / "filled")]
    assert [info.get("break_sentences") for info in infos] == [None, True]
    rates = [info["counts"]["fill_rate"] for info in infos]
    assert rates[0] < 0.9 < rates[1]
    counts, repeated = infos[1]["counts"], infos[1]["special_cases"]["tokens repeated"]
    share = round(repeated / (counts["tokens"] - 2 * counts["sequences"]), 6)
    assert 0 < share < 1
    assert [info["shares"].get("repeated") for info in infos] == [None, share]
    ends = (line for line in lines if line.startswith("train: "))
    told = [f"({repeated} of them repeats" in line for line in ends]
    assert told == [False, True]


def test_held_out_documents_are_apart(make_options, out, tmp_path):
    text = "\n\n".join(f"number {n} {n}\nsays {n} again" for n in range(1000, 1300))
    (tmp_path / "numbers.txt").write_text(text)
    flags = {"masking": "dynamic", "short_seq_prob": 0.0, "num_shards": 2}
    path = str(tmp_path / "numbers.txt")
    options = make_options(input_file=path, held_out_fraction=0.2, **flags)
    counts = create_pretraining_data(options)
    train, held_out = counts["train"], counts["held_out"]
    assert train["documents"] + held_out["documents"] == 300
    assert 30 < held_out["documents"] < 90
    assert held_out["sequences"] == held_out["documents"]
    assert train["sequences"] == 2 * train["documents"]
    shards = [f"x-0000{n}-of-00002.tfrecord" for n in (0, 1)]
    names = sorted(path.name for path in (out / "held_out").iterdir())
    assert names == ["SHA256SUMS", "dataset_info.json", *shards]


def test_named_files(make_options, out, examples):
    names = ",".join(str(out / name) for name in ("a.rec", "b.rec", "c.rec"))
    create_pretraining_data(make_options(output_file=names, masking="dynamic"))
    assert all(list(examples(out / name)) for name in ("a.rec", "b.rec", "c.rec"))


def test_chinese_words_of_a_spaced_file(create, tmp_path, vocabulary):
    pieces = vocabulary("我们在这里。")
    (tmp_path / "vocab.txt").write_text(pieces)
    (tmp_path / "zh.txt").write_text("我们 在 这里 。\n我们 这里 。\n")
    files = {
        "input_file": str(tmp_path / "zh.txt"),
        "spm_model_file": None,
        "vocab_file": str(tmp_path / "vocab.txt"),
    }
    inside = [pieces.split().index(character) for character in "们里"]
    for example in create(**files, word_boundaries="spaces", masking="dynamic").records:
        starts = np.unpackbits(np.frombuffer(example["word_starts"][0], np.uint8))
        expected = ~np.isin(example["input_ids"], inside)
        np.testing.assert_array_equal(starts[: len(expected)], expected)


def test_official_command_line_and_its_output_is_kept(
    make_options, out, monkeypatch, digests
):
    options = make_options()
    names = ("input_file", "output_file", "spm_model_file", "max_seq_length")
    flags = [f"--{name}={getattr(options, name)}" for name in names]
    flags += ["--vocab_file=x", "--input_file_mode=r", "--dupe_factor=1", "--workers=1"]
    monkeypatch.setattr("sys.argv", ["create_pretraining_data", *flags])
    command.main()
    made = digests(out)
    assert "x.tfrecord" in made
    with pytest.raises(UserError, match="already holds a data set"):
        create_pretraining_data(make_options(random_seed=1))
    assert digests(out) == made


def test_full_disk_leaves_nothing_half_written(make_options, out, monkeypatch):
    full = tf.errors.ResourceExhaustedError(None, None, "No space left")
    monkeypatch.setattr(tf.io.TFRecordWriter, "write", mock.Mock(side_effect=full))
    with pytest.raises(UserError, match="cannot be made: No space left"):
        create_pretraining_data(make_options())
    assert [p for p in out.rglob("*") if p.is_file()] == []


WORDS = "старый новый лесник विद्यार्थी पुस्तकालय स्वतंत्रता"


@pytest.fixture(scope="module")
def two_scripts(tmp_path_factory):
    """A text in two scripts; its vocabulary is beside it."""
    folder = tmp_path_factory.mktemp("words")
    rng, words = np.random.default_rng(0), WORDS.split()
    lines = (" ".join(rng.choice(words, 6)) + "\n" for _ in range(60))
    (folder / "text.txt").write_text("\n".join(lines), "utf-8")
    named = {"input_file": str(folder / "text.txt"), "output_prefix": str(folder / "v")}
    every = {"model_type": "char", "character_coverage": 1.0, "do_lower_case": False}
    train_tokenizer(TokenizerOptions(**named, **every, vocab_size=41, like="official"))
    return folder / "text.txt"


@pytest.fixture
def make(two_scripts, create):
    """Makes records of the text in two scripts."""
    vocabulary = str(two_scripts.with_name("v.model"))
    files = {"input_file": str(two_scripts), "spm_model_file": vocabulary}
    return functools.partial(create, **files, do_lower_case=False, max_seq_length=64)


def first_of_words(tokenizer, ids):
    special = tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id
    return [i in special or tokenizer.pieces[i].startswith("▁") for i in ids]


@pytest.mark.slow
def test_masked_words_are_whole(make):
    data, words = make(), []
    for example in data.records:
        ids = example["input_ids"].copy()
        chosen = np.zeros(len(ids), bool)
        real = example["masked_lm_weights"] == 1
        places = example["masked_lm_positions"][real]
        ids[places], chosen[places] = example["masked_lm_ids"][real], True
        ids = ids[: int(example["input_mask"].sum())]
        starts = np.array(first_of_words(data.tokenizer, ids))
        # The beginning of a word may be cut off behind a special token.
        starts[1:] |= np.isin(ids[:-1], [data.tokenizer.cls_id, data.tokenizer.sep_id])
        parts = np.split(chosen[: len(ids)], np.flatnonzero(starts))
        words += [part for part in parts if len(part) > 1]
    assert sum(map(any, words)) > 50
    assert all(word.all() for word in words if word.any())


def test_words_of_a_spaced_file_begin_behind_spaces():
    """A piece may stand for a space alone, with which its word begins."""
    spans = {"ab c": [(0, 1), (1, 2), (3, 3), (3, 4)], "d": [(0, 1)]}
    encode = lambda text: ([*range(len(spans[text]))], spans[text])  # noqa: E731
    tokenizer = types.SimpleNamespace(encode_with_offsets=encode)
    ids, lengths, starts = writing._encode_spaced(tokenizer, spans)
    assert ids.tolist() == [0, 1, 2, 3, 0] and lengths.tolist() == [4, 1]
    assert starts.tolist() == [True, False, True, False, True]


@pytest.mark.parametrize("rule", ["words", "pieces"])
def test_bits_of_dynamic_records(make, rule):
    """The official rule, that each piece is a word, on request."""
    data = make(masking="dynamic", word_boundaries=rule)
    for example in data.records:
        ids = example["input_ids"]
        bits = np.unpackbits(np.frombuffer(example["word_starts"][0], np.uint8))
        expected = first_of_words(data.tokenizer, ids)
        assert not all(expected)
        found = bits[: len(ids)].astype(bool).tolist()
        assert found == (expected if rule == "words" else [True] * len(ids))
    assert data.info["word_boundaries"] == rule


def test_bits_of_streams_read_both_ways(make):
    data = make(objective="permutation_lm", bi_data=True)
    assert {int(example["reversed_rows"][0]) for example in data.records} == {0, 1}
    for example in data.records:
        expected = first_of_words(data.tokenizer, example["input_ids"])
        assert example["token_boundary"].astype(bool).tolist() == expected


_SHARDS = {"num_shards": 3, "held_out_fraction": 0.2}


@pytest.mark.slow
def test_same_files_with_beam(make_options, made, out, digests):
    """And an unknown runner is one sentence."""
    options = dataclasses.asdict(make_options(**_SHARDS))
    with pytest.raises(UserError, match="--beam_options=--runner=no.such.Runner: "):
        beam.create(beam.BeamOptions(**options, beam_options="--runner=no.such.Runner"))
    beam.create(beam.BeamOptions(**options, beam_options="--runner=DirectRunner"))
    found = digests(out)
    assert found == digests(made(**_SHARDS))
    assert len(found) == 10


@pytest.mark.nightly
def test_the_benchmark_prints_every_figure(corpus_file, model_file, capsys):
    files = {"input_file": str(corpus_file), "spm_model_file": model_file}
    benchmark.benchmark(benchmark.Options(**files, max_seq_length=32, memory_factor=1))
    printed = capsys.readouterr().out
    for figure in (
        "encoder alone, prepared lines",
        "static, one worker",
        "dynamic, one worker",
        "peak memory of a worker",
        "dynamic masking in tf.data",
    ):
        assert figure in printed
