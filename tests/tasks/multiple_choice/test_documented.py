"""The Python of docs/multiple_choice.md runs as it stands there."""

import pathlib
import re
import shutil

import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.models.classification import AlbertForMultipleChoice
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export


@pytest.fixture
def their_directory(tmp_path, monkeypatch):
    """A Hugging Face directory with nothing but their files, in the current folder."""
    monkeypatch.chdir(tmp_path)
    characters = (
        "在意大利正式场合端上来的比萨是没有切开用刀和叉吃拿手里勺子倒进碗喝。，"
    )
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(characters)]
    config = AlbertConfig(
        vocab_size=len(pieces),
        embedding_size=4,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=64,
        initializer_range=0.5,
    )
    model = AlbertForMultipleChoice(config)
    model.save_pretrained("albert_chinese", format="huggingface")
    pathlib.Path("albert_chinese", "vocab.txt").write_text("\n".join(pieces) + "\n")
    return model


@pytest.mark.slow
@pytest.mark.nightly
def test_the_examples(project, their_directory):
    export(ExportOptions("albert_chinese", "served/race"))
    page = (project / "docs" / "multiple_choice.md").read_text()
    demonstration, client = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    names = {}
    exec(compile(demonstration, "multiple_choice.md", "exec"), names)
    probabilities = np.asarray(names["probabilities"])
    assert probabilities.shape == (1, 4)
    assert probabilities.sum() == pytest.approx(1)
    # No character is unknown, and each row has the prompt and its own choice.
    rows = names["tokenizer"].decode(names["encoding"]["input_ids"], True)
    assert len(set(rows)) == 4
    weights = their_directory.classifier.output_weights.numpy()[0]
    pooled = their_directory.albert(names["encoding"])["pooled_output"].numpy()
    expected = np.exp(pooled @ weights)
    np.testing.assert_allclose(probabilities[0], expected / expected.sum(), atol=1e-5)
    shutil.rmtree("albert_chinese")
    exec(compile(client, "multiple_choice.md", "exec"), names)
    answers = names["answers"]
    assert answers["choice"].shape == (2,)
    assert answers["probabilities"].numpy()[0, 2] == 0
