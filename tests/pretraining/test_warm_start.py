"""A run that starts from a checkpoint: whose weights each layer takes; new words."""

import dataclasses

import numpy as np
import pytest

import albert_tf
from albert_tf import bundle
from albert_tf.commands.convert import ConvertOptions
from albert_tf.commands.convert import convert
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.objectives.masked_lm import OBJECTIVES
from albert_tf.pretraining.initial_model import initial_model
from albert_tf.pretraining.initial_model import load_tokenizer
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.options import DataOptions
from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import train_tokenizer


@pytest.fixture
def config(material):
    return AlbertConfig.from_json_file(material / "config.json")


@pytest.fixture
def started(options, tmp_path):
    """Starts a model of a configuration from one of another; returns both weights."""

    def start(config, other, **flags):
        saved = albert_tf.AlbertForPreTraining(other)
        saved.save_pretrained(tmp_path / "start")
        bundled = bundle.open(tmp_path / "start")
        model = initial_model(options(**flags), config, OBJECTIVES["sop"], bundled)
        return model.official_variables(), saved.official_variables()

    return start


def test_a_deeper_model_starts_from_a_shallower_one(config, started, lines):
    deep = dataclasses.replace(config, num_hidden_layers=4, num_hidden_groups=2)
    found, weights = started(deep, config)
    assert "  layers: 4, from 1" in lines
    for name, value in found.items():
        origin = weights[name.replace("group_1", "group_0")]
        np.testing.assert_array_equal(value, origin, err_msg=name)


@pytest.mark.slow
def test_init_from_group0_is_the_official_rule(config, started, lines):
    two, four = (
        dataclasses.replace(config, num_hidden_layers=n, num_hidden_groups=n)
        for n in (2, 4)
    )
    origins = []
    for official in (False, True):
        lines.clear()
        started(four, two, init_from_group0=official)
        moved = [line for line in lines if ", attention: from" in line]
        origins.append([line.split("from ")[1][:7] for line in moved])
    assert origins == [["group_0", "group_1", "group_1"], ["group_0", "group_0"]]


def test_init_layers_may_be_the_mean_of_the_checkpoints(config, started):
    two = dataclasses.replace(config, num_hidden_layers=2, parameter_sharing="none")
    shared = dataclasses.replace(two, parameter_sharing="all")
    for init_layers, share in (("first", 0.0), ("mean", 0.5)):
        found, old = started(shared, two, init_layers=init_layers)
        for name in (name for name in old if "group_1/" in name):
            first = name.replace("group_1/", "group_0/")
            expected = (1 - share) * old[first] + share * old[name]
            np.testing.assert_allclose(found[first], expected, atol=1e-7)


def test_a_checkpoint_of_another_vocabulary_is_refused(options, tokenizer, tmp_path):
    tokenizer.save(tmp_path / "start")
    start = {"init_checkpoint": tmp_path / "start"}
    own, named = (
        load_tokenizer(options(**start, **changes))
        for changes in ({"spm_model_file": None}, {})
    )
    assert own.fingerprint() == named.fingerprint()
    with pytest.raises(UserError, match="is not the vocabulary"):
        load_tokenizer(options(do_lower_case=False, **start))


_FAMILIES = [
    "modernbert",
    *(
        pytest.param(f, marks=pytest.mark.nightly)
        for f in ("distilbert", "electra", "xlm-roberta")
    ),
]
_LINES = [
    "the quokka sat on the plot and the wombat was not very good",
    "the film was one that the quokkas and wombats had not seen",
    "a wombat is a cat that digs, and a quokka is one that jumps",
    "is it the good one or the bad one, said the quokka",
]


@pytest.mark.slow
@pytest.mark.parametrize("family", _FAMILIES)
def test_todays_encoders_learn_new_words_and_go_back(
    family, saved_model, run, deterministic, tmp_path
):
    """A killed run of them ends with the same weights."""
    theirs, start, output = (tmp_path / n for n in ("theirs", "start", "model"))
    text, records = tmp_path / "text.txt", str(tmp_path / "data" / "x.tfrecord")
    documents = ["\n".join(_LINES[i:] + _LINES[:i]) for i in range(4)] * 8
    text.write_text("\n\n".join(documents))
    saved = bundle.open(saved_model("pretraining", family))
    model = saved.model(albert_tf.AlbertForMaskedLM)
    model.save_pretrained(theirs, saved.tokenizer(), format="huggingface")
    names = {"input_file": str(text), "output_prefix": str(start)}
    train_tokenizer(
        TokenizerOptions(**names, extend=str(theirs), pieces=30, num_threads=1)
    )
    create_pretraining_data(
        DataOptions(
            input_file=str(text),
            output_file=records,
            vocab_file=str(start),
            do_lower_case=albert_tf.load_tokenizer(start).do_lower_case,
            sentence_objective="none",
            masking="dynamic",
            max_seq_length=16,
            max_predictions_per_seq=3,
            workers=1,
        )
    )
    flags = {
        "input_file": records,
        "eval_file": None,
        "spm_model_file": None,
        "init_checkpoint": start,
        "num_train_steps": 4,
        "num_warmup_steps": 1,
        "albert_config_file": start / "albert_config.json",
        **deterministic,
        "save_checkpoints_steps": 2,
        "iterations_per_loop": 1,
    }
    run(**flags)
    trained = bundle.open(output)
    target = str(tmp_path / "back")
    kinds = {"to_format": "huggingface", "model_class": "AlbertForMaskedLM"}
    convert(ConvertOptions(str(output), target, **kinds))
    old, back = bundle.open(theirs), bundle.open(target)
    tokenizer, size = back.tokenizer(), old.tokenizer().vocab_size
    assert tokenizer.get_vocab() == trained.tokenizer().get_vocab()
    rows = tokenizer(_LINES, max_length=16)
    assert (rows["input_ids"] >= size).any()
    found = back.model(albert_tf.AlbertForMaskedLM)(rows)
    expected = trained.model(albert_tf.AlbertForMaskedLM)(rows)
    np.testing.assert_array_equal(found, expected)
    table = "bert/embeddings/word_embeddings"
    begun = bundle.open(start).tensors[table][size:]
    assert (np.abs(trained.tensors[table][size:] - begun).max(axis=1) > 0).any()
    assert back.huggingface["model_type"] == family
    assert back.huggingface["architectures"] == old.huggingface["architectures"]
    # Its records are of no use to the model with the old words.
    assert saved.tokenizer().fingerprint() != trained.tokenizer().fingerprint()

    whole = dict(trained.tensors)
    later = [*(output / "checkpoints").glob("training-4.*")]
    assert later
    for path in later:
        path.unlink()  # as if the run had ended before
    run(**flags)
    again = bundle.open(output).tensors
    assert whole.keys() == again.keys()
    for name, tensor in whole.items():
        np.testing.assert_array_equal(again[name], tensor, err_msg=name)
