"""From a model directory to the module that is served."""

import pathlib
import pkgutil

from albert_tf.checkpoints.loading import find_model_class
from albert_tf.checkpoints.model_directory import read_training_info
from albert_tf.errors import UserError
from albert_tf.hub.names import local_directory
from albert_tf.models import registry
from albert_tf.near_misses import did_you_mean
from albert_tf.serving.multi_head import multi_head
from albert_tf.serving.serving_module import ServingModule
from albert_tf.storage import is_folder
from albert_tf.tasks.registry import task_from_info
from albert_tf.tasks.setup import MODEL_DIR
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.loading import check_fits_model


def build_module(
    model_dir, task="auto", max_seq_length=None, depth_loop=True, **serving_options
):
    """The `ServingModule` of a model directory, its `Head`, and facts about them.

    Args:
        model_dir: as `ExportOptions.model_dir`.
        task: as `ExportOptions.task`.
        max_seq_length: as `ExportOptions.max_seq_length`.
        depth_loop: see `TransformerStack`; a graph of a tenth of the size, which is
            loaded and compiled sooner.
        **serving_options: arguments of `ServingModule`.

    Raises:
        UserError: as `export`.
    """
    model_dirs = [local_directory(name) for name in str(model_dir).split(",")]
    for directory in model_dirs:
        if not directory or not is_folder(directory):
            meant = did_you_mean(directory) or "; name the folder of a model."
            raise UserError(
                f"--model_dir={model_dir}: there is no folder {directory!r}{meant}"
            )
    infos = [read_training_info(directory) for directory in model_dirs]
    tokenizer = load_tokenizer(model_dirs[0])
    if len(model_dirs) == 1:
        head, facts = _single_head(model_dirs[0], infos[0], task, tokenizer, depth_loop)
    else:
        head, facts = _several_heads(model_dirs, infos, depth_loop)
    check_fits_model(tokenizer, head.config, model_dirs[0])
    length = _length(head.config, infos, max_seq_length)
    features = head.text_features.of(tokenizer, length)
    facts = {**facts, "serves": head.name, "max_seq_length": length}
    return ServingModule(head, features, **serving_options), head, facts


def _single_head(model_dir, info, task, tokenizer, depth_loop):
    tuned_for = task_from_info(info, model_dir)
    model_class = find_model_class(model_dir)
    own, forms = model_class.default_served_form, registry.served_forms(model_class)
    tuned_form = forms.pop(registry.TASK_FORM, None)
    if tuned_for is not None and tuned_form:
        own = tuned_for.serves
        forms = {own: tuned_form, **forms}
    asked = own if task == "auto" else task
    if asked not in forms:
        raise UserError(
            f"--task={asked} does not fit {model_dir}, which was not fine-tuned for "
            f"it; leave --task out, or choose from {', '.join(forms)}."
        )
    facts = {k: v for k, v in info.items() if not isinstance(v, list)}  # no histories
    build = pkgutil.resolve_name(forms[asked])
    return build(model_dir, tuned_for, tokenizer, depth_loop=depth_loop), facts


def _several_heads(model_dirs, infos, depth_loop):
    """Names the heads by the last part of the directories that is their own."""
    tasks = {}
    for directory, info in zip(model_dirs, infos, strict=True):
        task = task_from_info(info, directory)
        if task is None:
            raise UserError(f"{directory} was not fine-tuned; export it by itself.")
        path = pathlib.Path(directory).resolve()
        name = path.parent.name if path.name == MODEL_DIR else path.name
        if name in tasks:
            raise UserError(f"Two of --model_dir are called {name!r}; rename one.")
        tasks[name] = task
    facts = {"tasks": {name: task.to_dict() for name, task in tasks.items()}}
    return multi_head(model_dirs, tasks, depth_loop=depth_loop), facts


def _length(config, infos, max_seq_length):
    positions = config.max_position_embeddings
    length = max_seq_length
    if length is None:
        length = min(i.get("max_seq_length", positions) for i in infos)
    if not 5 <= length <= positions:
        raise UserError(
            f"--max_seq_length={length} must be from 5 to {positions}, the number of "
            "positions of the model."
        )
    return length
