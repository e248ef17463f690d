"""Start of fine-tuning, and its refusals."""

import dataclasses

import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.tasks.commands.flags import StartFlags
from albert_tf.tasks.registry import create_task
from albert_tf.tokenization import load_tokenizer

_FIRST_LAYER = "bert/encoder/transformer/group_0/inner_group_0"


@pytest.mark.usefixtures("flags")  # for their files
def test_a_new_head_does_not_depend_on_the_form_of_the_checkpoint(tmp_path):
    encoder = AlbertModel(AlbertConfig.from_json_file(tmp_path / "tiny.json"))
    tokenizer = load_tokenizer(tmp_path / "vocab.txt")
    task = create_task("regression", "t")
    heads = []
    for name in ("model_directory", "huggingface"):
        encoder.save_pretrained(tmp_path / name, tokenizer, format=name)
        start = StartFlags(init_checkpoint=str(tmp_path / name), max_seq_length=16)
        heads.append(start.start.model(task)[0].classifier.output_weights.numpy())
    np.testing.assert_array_equal(*heads)


@pytest.mark.slow
@pytest.mark.usefixtures("flags")  # for their files
def test_layers_may_be_others_than_the_checkpoints(tmp_path):
    config = AlbertConfig.from_json_file(tmp_path / "tiny.json")
    layers = {"num_hidden_layers": 2, "parameter_sharing": "none"}
    two = AlbertModel(dataclasses.replace(config, **layers))
    tokenizer = load_tokenizer(tmp_path / "vocab.txt")
    two.save_pretrained(tmp_path / "two", tokenizer)
    shared = dataclasses.replace(config, num_hidden_layers=2, depth_adapter_rank=1)
    shared.to_json_file(tmp_path / "shared.json")
    start = StartFlags(
        init_checkpoint=str(tmp_path / "two"),
        albert_config_file=str(tmp_path / "shared.json"),
        max_seq_length=16,
    )
    task = create_task("regression", "t")
    with pytest.raises(UserError, match="two holds tensors that the model has"):
        start.start.model(task)
    for rule, share in (("first", 0), ("mean", 0.5)):
        start = dataclasses.replace(start, init_layers=rule)
        model, _ = start.start.model(task)
        assert model.config == shared
        found, old = model.official_variables(), two.official_variables()
        first = f"{_FIRST_LAYER}/attention_1/self/query/kernel"
        other = first.replace("group_0", "group_1", 1)
        expected = (1 - share) * old[first] + share * old[other]
        np.testing.assert_allclose(found[first], expected, atol=1e-6)
    start = dataclasses.replace(start, albert_config_file=None)
    with pytest.raises(UserError, match="--init_layers needs --albert_config_file"):
        start.start.model(task)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"init_layers": "mean"}, "--from_scratch needs .* no .* or --init_layers"),
        ({"vocab_file": None}, "Name the vocabulary"),
        ({"train_batch_size": 15, "gradient_accumulation_steps": 2}, "batch size 15"),
    ],
)
def test_mistakes_are_one_clear_error(flags, tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        flags(**{"do_train": True, **changes})
    assert not (tmp_path / "out" / "checkpoints").exists()
    assert not (tmp_path / "out" / "model").exists()


def test_a_vocabulary_that_does_not_fit_is_an_error(flags, tmp_path):
    known = (tmp_path / "vocab.txt").read_text().split()
    other, reordered = tmp_path / "other.txt", tmp_path / "reordered.txt"
    other.write_text("\n".join([*known, "more"]) + "\n")
    with pytest.raises(
        UserError, match="vocabulary has 18 pieces, but the model has 17"
    ):
        flags(do_train=True, vocab_file=other)
    reordered.write_text("\n".join([*known[:5], *reversed(known[5:])]) + "\n")
    config = AlbertConfig.from_json_file(tmp_path / "tiny.json")
    tokenizer = load_tokenizer(tmp_path / "vocab.txt")
    AlbertModel(config).save_pretrained(tmp_path / "pretrained", tokenizer)
    with pytest.raises(UserError, match="reordered.txt is not the vocabulary"):
        flags(
            do_train=True,
            from_scratch=None,
            init_checkpoint=tmp_path / "pretrained",
            vocab_file=reordered,
        )
    start = StartFlags(init_checkpoint=str(tmp_path / "pretrained"), max_seq_length=16)
    _, found = start.start.model(create_task("regression", "t"))  # brings its own
    assert found.fingerprint() == tokenizer.fingerprint()
