"""python -m tools.inspect_layers, through its entry."""

import numpy as np
import pytest

from albert_tf.models.albert import AlbertModel
from albert_tf.tokenization import load_tokenizer
from tools import inspect_layers

pytestmark = pytest.mark.pictures


def run(model_dir, output_dir, *arguments):
    flags = [f"--model_dir={model_dir}", f"--output_dir={output_dir}"]
    inspect_layers.main(["inspect_layers", *flags, *arguments])


@pytest.mark.slow
def test_changes_of_tokens_and_pictures(pretrained, tmp_path):
    run(pretrained.folder, tmp_path, "the film is good .", "bad")
    names = ["attention_1.png", "attention_2.png", "layers.png"]
    assert sorted(path.name for path in tmp_path.glob("*.png")) == names
    assert all((tmp_path / name).read_bytes()[:4] == b"\x89PNG" for name in names)
    rows = np.loadtxt(tmp_path / "layers.tsv", skiprows=1)
    steps = []
    for text in ("the film is good .", "bad"):  # one by one: no padding
        outputs = pretrained.encoder(pretrained.tokenizer(text))
        first = outputs["embedding_output"]
        if isinstance(pretrained.encoder, AlbertModel):
            first = pretrained.encoder.embedding_mapping(first)
        states = np.stack([first, *outputs["hidden_states"]])[:, 0]  # [L + 1, T, H]
        steps += [(states[:-1, t], states[1:, t]) for t in range(states.shape[1])]
    before, after = np.array(steps, np.float64).swapaxes(0, 1)  # [tokens, L, H]
    distances = np.sqrt(np.sum((before - after) ** 2, axis=-1)).mean(axis=0)
    lengths = np.sqrt((before**2).sum(-1) * (after**2).sum(-1))
    angles = np.degrees(np.arccos((before * after).sum(-1) / lengths)).mean(axis=0)
    np.testing.assert_array_equal(rows[:, 0], [1, 2])
    np.testing.assert_allclose(rows[:, 1], distances, atol=1e-5)
    np.testing.assert_allclose(rows[:, 2], angles, atol=1e-3)
    # The attention of a file's texts would be too many pictures.
    (tmp_path / "texts.txt").write_text("bad\n")
    texts = f"--input_file={tmp_path / 'texts.txt'}"
    run(pretrained.folder, tmp_path / "file", texts)
    assert [path.name for path in (tmp_path / "file").glob("*.png")] == ["layers.png"]


def test_what_is_drawn(model_dir, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    figure = Figure()

    def write_plot(path, draw, size, labels):
        draw(figure, labels)

    monkeypatch.setattr("albert_tf.display.plots.write_plot", write_plot)
    model = AlbertModel.from_pretrained(model_dir, return_attentions=True)
    tokenizer = load_tokenizer(model_dir)
    features = tokenizer("the film")
    inspect_layers.write_attention(tmp_path, 1, model, tokenizer, features)
    maps = [axis.images[0].get_array() for axis in figure.axes]
    expected = np.mean(model(features)["attentions"], axis=(1, 2))  # [L, T, T]
    np.testing.assert_allclose(maps, expected, atol=1e-6)
    pieces = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert pieces == ["[CLS]", "the", "film", "[SEP]"]
