"""The benchmark of an epoch: our own two ways, on a tiny model and table."""

import re
import string

import pytest

from albert_tf.errors import UserError
from benchmarks import finetune_epoch


@pytest.fixture
def options(tiny_config, tmp_path):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *string.ascii_lowercase]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces))
    config = tiny_config(vocab_size=40, max_position_embeddings=128)
    config.to_json_file(tmp_path / "config.json")
    rows = "".join(f"{'a b ' * (i % 7 + 1)}\t{i % 2}\n" for i in range(20))
    (tmp_path / "SST-2").mkdir()
    for name in ("train", "dev"):
        path = tmp_path / "SST-2" / f"{name}.tsv"
        path.write_text(f"sentence\tlabel\n{rows}")

    def make(**changes):
        return finetune_epoch.Options(
            data_dir=str(tmp_path),
            spm_model_file=str(tmp_path / "vocab.txt"),
            albert_config_file=str(tmp_path / "config.json"),
            **{"rows": 16, "fixed_rows": 8, "train_batch_size": 4, **changes},
        )

    return make


def test_both_ways_are_timed(options, capsys):
    finetune_epoch.benchmark(options(epochs=2))
    printed = capsys.readouterr().out
    rates = re.findall(r"^this project.*: ([\d.]+) examples/s", printed, re.M)
    assert len(rates) == 2 and all(float(rate) > 0 for rate in rates)
    assert "this project / this project, fixed length: " in printed


def test_a_peer_without_its_packages_is_one_sentence(options):
    with pytest.raises(UserError, match="--peer_python=false cannot import torch"):
        finetune_epoch.benchmark(options(peer_python="false"))
