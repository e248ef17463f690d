"""Pretraining goes on with today's encoders, with new words, and they go back."""

import numpy as np
import pytest

import albert_tf
from albert_tf import bundle
from albert_tf.commands.convert import ConvertOptions
from albert_tf.commands.convert import convert
from albert_tf.errors import UserError
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.options import DataOptions
from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import train_tokenizer

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


@pytest.fixture
def files(saved_model, tmp_path):
    """Writes the text, and a Hugging Face directory of a family; returns it."""
    documents = ["\n".join(_LINES[i:] + _LINES[:i]) for i in range(4)] * 8
    (tmp_path / "text.txt").write_text("\n\n".join(documents))

    def write(family):
        old = bundle.open(saved_model("pretraining", family))
        model = old.model(albert_tf.AlbertForMaskedLM)
        theirs = tmp_path / "theirs"
        model.save_pretrained(theirs, old.tokenizer(), format="huggingface")
        return theirs

    return write


@pytest.fixture
def extended(files, tmp_path):
    """Extends a family's model; returns its folder."""

    def make(family):
        names = {"input_file": str(tmp_path / "text.txt"), "pieces": 30}
        names |= {"extend": str(files(family)), "num_threads": 1}
        target = tmp_path / "start"
        train_tokenizer(TokenizerOptions(output_prefix=str(target), **names))
        return target

    return make


@pytest.fixture
def data(tmp_path):
    """Makes records with a model's vocabulary; returns their name."""

    def make(folder, name="data"):
        path = str(tmp_path / name / "x.tfrecord")
        create_pretraining_data(
            DataOptions(
                input_file=str(tmp_path / "text.txt"),
                output_file=path,
                vocab_file=str(folder),
                do_lower_case=albert_tf.load_tokenizer(folder).do_lower_case,
                sentence_objective="none",
                masking="dynamic",
                max_seq_length=16,
                max_predictions_per_seq=3,
                workers=1,
            )
        )
        return path

    return make


@pytest.fixture
def begin(run):
    """Goes on pretraining a model on records."""

    def start(folder, records, **changes):
        run(
            input_file=records,
            eval_file=None,
            spm_model_file=None,
            init_checkpoint=folder,
            albert_config_file=folder / "albert_config.json",
            **{"num_train_steps": 4, "num_warmup_steps": 1, **changes},
        )

    return start


@pytest.mark.slow
@pytest.mark.parametrize("family", _FAMILIES)
def test_new_words_are_learnt_and_go_back(family, extended, data, begin, tmp_path):
    start = extended(family)
    old = bundle.open(tmp_path / "theirs")
    begin(start, data(start))
    convert(
        ConvertOptions(
            str(tmp_path / "model"),
            str(tmp_path / "back"),
            to_format="huggingface",
            model_class="AlbertForMaskedLM",
        )
    )
    trained, back = (bundle.open(tmp_path / name) for name in ("model", "back"))
    tokenizer = back.tokenizer()
    assert tokenizer.get_vocab() == trained.tokenizer().get_vocab()
    size = old.tokenizer().vocab_size
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


@pytest.mark.slow
def test_a_killed_run_is_the_same(extended, data, begin, deterministic, tmp_path):
    start = extended("modernbert")
    changes = {
        "num_train_steps": 4,
        "save_checkpoints_steps": 2,
        "iterations_per_loop": 1,
    }
    records = data(start)
    begin(start, records, **changes, **deterministic)
    whole = bundle.open(tmp_path / "model").tensors
    later = [*(tmp_path / "model" / "checkpoints").glob("training-4.*")]
    assert later
    for path in later:
        path.unlink()  # as if the run had ended before
    begin(start, records, **changes, **deterministic)
    again = bundle.open(tmp_path / "model").tensors
    assert whole.keys() == again.keys()
    for name, tensor in whole.items():
        np.testing.assert_array_equal(again[name], tensor, err_msg=name)


@pytest.mark.slow
def test_records_of_the_other_vocabulary_are_refused(extended, data, begin, tmp_path):
    new = extended("modernbert")
    old = tmp_path / "old"
    convert(ConvertOptions(str(tmp_path / "theirs"), str(old)))
    for model, other in ((new, old), (old, new)):
        with pytest.raises(UserError, match="was made with another tokenizer"):
            begin(model, data(other, f"of_{other.name}"))
    assert not (tmp_path / "model" / "model.weights.h5").exists()
