"""Flags of run_pretraining.py, and the recipes of them in configs/pretraining."""

import json
import pathlib
import re

import pytest

import albert_tf
from albert_tf.cli.command_line import parse
from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import encoder_parameters
from albert_tf.engine import compilation
from albert_tf.errors import UserError
from albert_tf.objectives.masked_lm import OBJECTIVES
from albert_tf.pretraining import flags as pretraining_flags
from albert_tf.pretraining import run as command
from albert_tf.pretraining.by_objective import load_config
from albert_tf.pretraining.data import PretrainingData
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.initial_model import initial_model
from albert_tf.pretraining.run import optimizer_of
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.settings import _refuse_contradictions
from albert_tf.pretraining.settings import resolve


def test_without_sentence_objective_its_head_does_not_train(settings):
    """Nothing but weight decay would reach it."""
    chosen = settings(sentence_objective="none")
    assert PretrainingData(settings(), None).sentence_terms() == OBJECTIVES["sop"]
    terms = PretrainingData(chosen, None).sentence_terms()
    config = AlbertConfig.from_json_file(chosen.albert_config_file)
    model = initial_model(chosen, config, terms)
    names = {model.official_names()[v.path] for v in model.trainable_variables}
    assert not [n for n in names if "pooler" in n or "seq_relationship" in n]
    assert len(names) == len(model.weights) - 4


@pytest.mark.parametrize(
    "changes",
    [{"depth_loop": True, "mixed_precision": "bfloat16"}, {"rematerialize": True}],
)
def test_execution_flags_reach_the_model(settings, changes):
    chosen = settings(**changes)
    config = AlbertConfig.from_json_file(chosen.albert_config_file)
    model = initial_model(chosen, config, OBJECTIVES["sop"])
    for name in ("depth_loop", "rematerialize"):
        assert model.execution[name] is changes.get(name, False)
    assert model.compute_dtype == changes.get("mixed_precision", "float32")
    assert {variable.dtype for variable in model.trainable_variables} == {"float32"}


def test_the_type_of_the_devices_is_stored(settings, monkeypatch):
    monkeypatch.setattr(compilation, "bfloat16_units", lambda: ("amx_bf16",))
    chosen = settings(mixed_precision="auto", distribution_strategy="cpu")
    assert chosen.mixed_precision == "bfloat16"
    assert chosen.execution["dtype"] == "mixed_bfloat16"


_MASKED = {"masked_lm_prob": 0.3, "final_masked_lm_prob": 0.1}
_REPLACED = {"objective": "replaced_tokens"}
_STREAMS = {"objective": "permutation_lm"}
_BUDGET = {"train_minutes": 2, "num_train_steps": None}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"do_train": False}, "There is nothing to do; pass --do_train or --do_eval"),
        ({"do_train": False, "do_eval": True}, None),
        (
            {**_REPLACED, "sentence_objective": "none"},
            "--sentence_objective=none needs --objective=masked_lm, but this run has "
            "--objective=replaced_tokens; leave one of the two out",
        ),
        ({**_STREAMS, "teacher": "x"}, "--teacher=x needs --objective=masked_lm, but"),
        (
            {**_STREAMS, "masked_lm_prob": 0.3},
            "--masked_lm_prob=0.3 needs --objective=masked_lm or replaced_tokens, but",
        ),
        ({**_REPLACED, **_MASKED}, None),
        ({"gen_weight": 2}, "--gen_weight=2.0 needs --objective=replaced_tokens, but"),
        ({**_REPLACED, "gen_weight": 2}, None),
        ({"max_gram": 3}, "--max_gram=3 needs --objective=permutation_lm, but"),
        ({**_STREAMS, "max_gram": 3}, None),
        (
            {"final_masked_lm_prob": 0.1},
            "--final_masked_lm_prob needs --masked_lm_prob",
        ),
        ({"eval_steps": 1, "eval_file": None}, "--eval_steps needs --eval_file"),
        ({"init_layers": "mean"}, "--init_layers needs --init_checkpoint"),
        ({"init_from_group0": True}, "--init_from_group0 needs --init_checkpoint"),
        ({"teacher_layers": "1:2"}, "--teacher_layers needs --teacher"),
        (
            {**_BUDGET, "first_phase_steps": 3},
            "measures; leave --first_phase_steps out",
        ),
        ({**_BUDGET, "batch_ramp_steps": 3}, "measures; leave --batch_ramp_steps out"),
        (
            {**_BUDGET, "distribution_strategy": "multi_worker"},
            "--train_minutes=2 fixes the number of steps of one phase, which one "
            "process measures; leave --distribution_strategy out, or --train_minutes",
        ),
        ({**_BUDGET, "distribution_strategy": "mirrored"}, None),
        (
            {**_MASKED, "restart_data": True},
            "--restart_data reads the data from its first batch, at which the share of "
            "tokens would be 0.3 again; leave --final_masked_lm_prob out",
        ),
        ({"masked_lm_prob": 0.3, "restart_data": True}, None),
    ],
)
def test_flags_that_contradict_each_other(changes, message, options):
    chosen = options(**changes)
    if message is None:
        _refuse_contradictions(chosen)
        return
    with pytest.raises(UserError, match=re.escape(message)):
        _refuse_contradictions(chosen)


def test_the_rate_is_scaled(settings):
    """By the root of a batch of 16, of 4096; half of it in the second step of two."""
    chosen = settings(scale_learning_rate=True, learning_rate=0.16)
    assert float(optimizer_of(chosen).learning_rate_after(1)) == pytest.approx(0.005)


def test_a_config_of_no_objective_is_named_by_its_mistake(tmp_path):
    (tmp_path / "typo.json").write_text('{"hiden_size": 8}')
    with pytest.raises(UserError, match="typo.json has the unknown key 'hiden_size'"):
        load_config("masked_lm", tmp_path / "typo.json", None, [16])


@pytest.mark.slow
def test_official_command_line_runs_unchanged(material, tmp_path, monkeypatch):
    """All flags of the official script; it names no vocabulary and no held-out data."""
    argv = f"""run_pretraining.py --input_file={material}/data/train.tfrecord
    --albert_config_file={material}/config.json --output_dir={tmp_path}/official
    --init_checkpoint= --train_batch_size=16 --max_seq_length=16 --num_train_steps=2
    --max_predictions_per_seq=3 --do_train=True --do_eval=True --eval_batch_size=16
    --optimizer=lamb --learning_rate=0.00176 --poly_power=1.0 --num_warmup_steps=1
    --start_warmup_step=0 --save_checkpoints_steps=5000 --keep_checkpoint_max=5
    --iterations_per_loop=1000 --max_eval_steps=2 --init_from_group0=False
    --masked_lm_budget=0 --use_tpu=False --num_tpu_cores=8 --tpu_zone=a
    --gcp_project=b --master=c"""
    # XLA compiles longer than all the rest takes; tests/engine has steps with it.
    monkeypatch.setattr(command, "pretraining_xla", lambda *_: {"use_xla": False})
    ignored = pretraining_flags._IGNORED
    results = pretrain(resolve(parse(PretrainingOptions, argv.split(), ignored)))
    assert results["global_step"] == 2
    assert not list((tmp_path / "official").glob("*.model"))
    assert albert_tf.AlbertForPreTraining.from_pretrained(tmp_path / "official")


_CONFIGS = pathlib.Path(__file__).parents[2] / "configs" / "pretraining"
_FILES = {path.stem: path for path in sorted(_CONFIGS.glob("*.json"))}
_RECIPES = [name for name in _FILES if not name.endswith("_config")]


@pytest.fixture
def recipe():
    """Parses a recipe with flags over it."""

    def read(name, *flags):
        argv = ["run_pretraining.py", f"--config={_FILES[name]}", "--output_dir=out"]
        return parse(PretrainingOptions, [*argv, "--input_file=data", *flags])

    return read


@pytest.mark.parametrize("name", _RECIPES)
def test_recipe_says_where_it_comes_from_and_fits_its_model(project, recipe, name):
    comments = json.loads(_FILES[name].read_text())
    assert {"//source", "//hardware", "//data", "//expected"} <= set(comments)
    options = recipe(name)
    phases = options.phases()
    lengths = [phase.max_seq_length for phase in phases]
    path = project / options.albert_config_file
    load_config(options.objective, path, None, lengths)
    assert (
        options.num_warmup_steps < options.num_train_steps == phases[-1].num_train_steps
    )


def test_the_roberta_of_the_recipes_has_the_published_size(project, recipe):
    path = project / recipe("roberta_base").albert_config_file
    config = AlbertConfig.from_json_file(path)
    assert (config.position_rows, config.padding_idx) == (514, 1)
    # Hugging Face's roberta-base without its head.
    assert sum(encoder_parameters(config).values()) == 124_645_632


def test_a_shrunk_recipe_fits_its_data(recipe, dynamic, flags):
    changes = {
        "input_file": dynamic / "train.tfrecord",
        "eval_file": None,
        "learning_rate": None,
        "do_lower_case": True,
        "eval_steps": 0,
        "max_predictions_per_seq": 5,
    }  # of 16 tokens, of which it masks 30%
    options = resolve(recipe("wikipedia_small", *flags(**changes)))
    _, data, trainer = command._prepare(options)
    (batch,) = data.stages()[0].dataset.take(1)
    assert 3 < batch["masked_lm_weights"].numpy().sum(axis=1).max() <= 5
    assert trainer.options.num_train_steps == options.num_train_steps


def test_minutes_replace_the_steps_of_a_recipe(recipe):
    options = recipe("wikipedia_small", "--train_minutes=2")
    assert options.train_minutes == 2
    assert options.num_train_steps == PretrainingOptions.num_train_steps
