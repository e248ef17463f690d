"""From a model directory to the module that is served."""

import dataclasses
import pathlib
import pkgutil

from albert_tf.checkpoints.loading import find_head
from albert_tf.checkpoints.model_directory import read_training_info
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.hub.names import local_directory
from albert_tf.io.near_misses import did_you_mean
from albert_tf.io.storage import is_folder
from albert_tf.row_layout import CLS_FIRST
from albert_tf.serving.heads.several import models_of_one_encoder
from albert_tf.serving.heads.several import multi_head
from albert_tf.serving.int8.sublayers import multiplied_in_int8
from albert_tf.serving.serving_module import ServingModule
from albert_tf.tasks.registry import read_task
from albert_tf.tasks.registry import task_of
from albert_tf.tasks.setup import MODEL_DIR
from albert_tf.tasks.task import Task
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.loading import tokenizer_for_model

_LONGEST = 512  # tokens of a row, where neither the model nor its training says more


def build_module(
    model_dir,
    task="auto",
    max_seq_length=None,
    depth_loop=True,
    compute_dtype="float32",
    tokenizer=None,
    **serving_options,
):
    """The `ServingModule` of a model directory, its `Head`, and facts about them.

    Args:
        model_dir: as `ExportOptions.model_dir`.
        task: as `ExportOptions.task`.
        max_seq_length: as `ExportOptions.max_seq_length`.
        depth_loop: see `TransformerStack`; a graph of a tenth of the size, which is
            loaded and compiled sooner.
        compute_dtype: as `ExportOptions.compute_dtype`.
        tokenizer: by default the one in the directory.
        **serving_options: arguments of `ServingModule`.

    Raises:
        UserError: as `export`.
    """
    model_dirs = [local_directory(name) for name in str(model_dir).split(",")]
    for directory in model_dirs:
        if not directory or not is_folder(directory):
            meant = did_you_mean(directory) or "; name the folder of a model."
            raise UserError(
                f"model_dir={model_dir}: there is no folder {directory!r}{meant}"
            )
    first, infos = model_dirs[0], [read_training_info(path) for path in model_dirs]
    execution = {"depth_loop": depth_loop}
    if compute_dtype == "bfloat16":
        # That of the variables, too: no request has to cast a kernel.
        execution["dtype"] = compute_dtype
    if len(model_dirs) == 1:
        form = _form_in(first, infos[0], task)
        tokenizer = tokenizer or load_tokenizer(first)
        model = form.model_class.from_pretrained(first, **execution)
        head = form.head(model, tokenizer)
        facts = {k: v for k, v in infos[0].items() if not isinstance(v, list)}
        facts |= form.facts()
    else:
        tokenizer = tokenizer or load_tokenizer(first)
        tasks = _tasks_of_heads(model_dirs)
        models = models_of_one_encoder(model_dirs, tasks, **execution)
        model, head = models[0], multi_head(models, tasks)
        facts = {"tasks": {name: task.to_dict() for name, task in tasks.items()}}
    if compute_dtype == "int8":
        head = multiplied_in_int8(head, model)
    tokenizer = tokenizer_for_model(tokenizer, head.config, first)
    return _module(head, facts, tokenizer, infos, max_seq_length, serving_options)


def build_module_of(model, tokenizer, task="auto"):
    """As `build_module`, of a `PretrainedModel` in memory.

    The module computes with the model's own variables: it answers as the model does
    that is trained further.

    Raises:
        UserError: the model does not fit the task or the tokenizer.
    """
    source, info = f"This {type(model).__name__}", model.task_info() or {}
    forms = {
        name: (owner, place)
        for name, (owner, place) in registry.served_forms(type(model)).items()
        if owner is type(model) or isinstance(model.encoder(), owner)
    }
    tuned_for = task_of(info, source, type(model), model.head_config())
    form = _form(type(model), forms, tuned_for, task, source)
    served = model if form.model_class is type(model) else model.encoder()
    tokenizer = tokenizer_for_model(tokenizer, model.config, "memory")
    head = form.head(served, tokenizer)
    return _module(head, form.facts(), tokenizer, [info])


@dataclasses.dataclass(frozen=True)
class _Form:
    """What is made of a model: the class that is served, and its head's builder."""

    model_class: type
    builder: str
    task: Task | None

    def head(self, model, tokenizer):
        return pkgutil.resolve_name(self.builder)(model, self.task, tokenizer)

    def facts(self):
        return {} if self.task is None else {"task": self.task.to_dict()}


def _form_in(model_dir, info, task):
    """The `_Form` of a model directory."""
    model_class, head = find_head(model_dir)
    tuned_for = task_of(info, model_dir, model_class, head)
    if tuned_for is not None:
        tuned_for = tuned_for.as_trained(info.get("dev", {}))
    forms = registry.served_forms(model_class)
    return _form(model_class, forms, tuned_for, task, model_dir)


def _form(model_class, forms, tuned_for, task, source):
    if not forms:
        raise UserError(
            f"{source} is an {model_class.__name__}, which cannot be served; export a "
            "model of another kind, such as what run_classifier.py makes of it."
        )
    own = model_class.default_served_form
    tuned_form = forms.pop(registry.TASK_FORM, None)
    if tuned_for is not None and tuned_form:
        own = tuned_for.serves
        forms = {own: tuned_form, **forms}
    asked = own if task == "auto" else task
    if asked is None:
        raise UserError(
            f"{source} does not say what its outputs mean; fine-tune it with labels="
            f"[…], or ask for task={next(iter(forms))}."
        )
    if asked not in forms:
        raise UserError(
            f"task={asked} does not fit {source}, which was not fine-tuned for "
            f"it; choose from {', '.join(forms)}."
        )
    return _Form(*forms[asked], tuned_for)


def _module(head, facts, tokenizer, infos, max_seq_length=None, serving_options=()):
    length = _length(head.config, infos, max_seq_length)
    longest = head.config.max_position_embeddings or length
    head = dataclasses.replace(head, longest=longest)
    facts = {
        **facts,
        "serves": head.name,
        "max_seq_length": length,
        "text_inputs": list(head.text_inputs),
    }
    if tokenizer.layout != CLS_FIRST:
        facts["row_layout"] = tokenizer.layout.name
    features = head.text_features.of(tokenizer, length)
    return ServingModule(head, features, **dict(serving_options)), head, facts


def _tasks_of_heads(model_dirs):
    """The tasks by the last part of the directories that is their own."""
    tasks = {}
    for directory in model_dirs:
        task, _ = read_task(directory)
        if task is None:
            raise UserError(f"{directory} was not fine-tuned; export it by itself.")
        path = pathlib.Path(directory).resolve()
        name = path.parent.name if path.name == MODEL_DIR else path.name
        if name in tasks:
            raise UserError(
                f"Two models of --model_dir are called {name!r}; rename one."
            )
        tasks[name] = task
    return tasks


def _length(config, infos, max_seq_length):
    length = max_seq_length
    if length is None:
        longest = config.max_position_embeddings or _LONGEST
        length = min(info.get("max_seq_length", longest) for info in infos)
    config.check_row("max_seq_length", length)
    return length
