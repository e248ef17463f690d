"""Several heads on one encoder."""

import numpy as np
import pytest

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.loading import build_module
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.registry import create_task

_TEXTS = ["the film was very good .", "", "bad"]
_TASKS = {
    "mood": create_task("single_label", "mood", labels=("no", "yes")),
    "stars": create_task("regression", "stars"),
}


@pytest.fixture
def model_dirs(classifier, tiny_tokenizer, tmp_path):
    """Two heads on the encoder of the classifier."""
    encoder = classifier.model.albert
    for name, task in _TASKS.items():
        model = AlbertForSequenceClassification(encoder.config, task.num_outputs)
        for ours, theirs in zip(
            model.albert.official_variables().values(),
            encoder.official_variables().values(),
            strict=True,
        ):
            ours.assign(theirs)
        info = {"task": task.to_dict(), "max_seq_length": 24}
        # As run_classifier lays it out: the run is named, not the folder in it.
        model.save_pretrained(tmp_path / name / "model", tiny_tokenizer, info)
    return [str(tmp_path / name / "model") for name in _TASKS]


@pytest.mark.slow
def test_one_pass_gives_the_answers_of_each_model(model_dirs, classifier, tmp_path):
    options = ExportOptions(",".join(model_dirs), str(tmp_path / "served"))
    version = export(options)
    answers = Predictor(tmp_path / "served").arrays(_TEXTS)
    assert set(answers) == {"mood_label", "mood_probabilities", "stars_score"}
    for name, directory in zip(_TASKS, model_dirs, strict=True):
        alone = Predictor(directory).arrays(_TEXTS)
        for key in alone.keys() - {"label"}:
            np.testing.assert_allclose(answers[f"{name}_{key}"], alone[key], atol=1e-5)
    sizes = [
        sum(f.stat().st_size for f in (path / "variables").iterdir())
        for path in (version, classifier.version)
    ]
    assert sizes[0] < 1.2 * sizes[1]  # one encoder


@pytest.mark.slow
def test_models_that_do_not_belong_together(
    model_dirs, classifier, pair_classifier, encoder, tmp_path
):
    def together(*directories):
        build_module([*map(bundle.open, directories)])

    with pytest.raises(UserError, match="have different encoders"):
        together(model_dirs[0], pair_classifier.model_dir)
    with pytest.raises(UserError, match="was not fine-tuned"):
        together(model_dirs[0], encoder.model_dir)
    with pytest.raises(UserError, match="Two models of --model_dir are called 'mood'"):
        together(model_dirs[0], model_dirs[0])
    info = {"task": {**_TASKS["mood"].to_dict(), "pair": True}}
    other = tmp_path / "pairs"
    classifier.model.save_pretrained(other, classifier.tokenizer, info)
    with pytest.raises(UserError, match="take different inputs"):
        together(model_dirs[0], other)
