"""Builds the served module from a model directory."""

import dataclasses
import pathlib

import tensorflow as tf

from albert_tf.bundle import without_adapters
from albert_tf.errors import UserError
from albert_tf.exit_rule import asked_rule
from albert_tf.row_layout import CLS_FIRST
from albert_tf.serving.served import Served
from albert_tf.serving.serving_module import ServingModule
from albert_tf.serving.several_tasks import SeveralTasks
from albert_tf.serving.several_tasks import SharedEncoder
from albert_tf.serving.several_tasks import models_of_one_encoder
from albert_tf.tasks.loading import MODEL_DIR
from albert_tf.tasks.pretrained import answers_named
from albert_tf.tasks.pretrained import answers_of
from albert_tf.tasks.pretrained import bound
from albert_tf.tasks.pretrained import usual_answer
from albert_tf.tasks.registry import read_task
from albert_tf.tasks.registry import task_of
from albert_tf.tasks.task import Task
from albert_tf.token_files import TokenFile
from albert_tf.tokenization.loading import read_tokenizer
from albert_tf.tokenization.loading import tokenizer_for_model


def build_module(
    bundles,
    task="auto",
    max_seq_length=None,
    depth_loop=True,
    compute_dtype="float32",
    tokenizer=None,
    exit_rule=None,
    **serving_options,
):
    """Builds the `ServingModule` of a model, the `Served` model, and their metadata.

    Args:
        bundles: a list with the `Bundle` of the model, or with several that share one
            encoder.
        task, max_seq_length, compute_dtype: see `ExportOptions`.
        depth_loop: see `TransformerStack`; makes the graph ten times smaller and faster
            to load and compile.
        tokenizer: by default the one in the directory.
        exit_rule: see `exit_rule.asked_rule`.
        **serving_options: arguments of `ServingModule`.

    Raises:
        UserError: see `export`.
    """
    execution = {"depth_loop": depth_loop}
    if compute_dtype == "bfloat16":
        # Variables have this type, too, so that no request has to cast a kernel.
        execution["dtype"] = compute_dtype
    first, *further = bundles
    if further:
        served, facts, infos = _several(bundles, tokenizer, execution)
    else:
        served, facts, infos = _one(first, task, tokenizer, execution)
    _choose_exit(served, exit_rule, first.path, serving_options)
    return _module(served, facts, infos, max_seq_length, serving_options)


def _one(opened, task, tokenizer, execution):
    """Returns the `Served` model, its metadata, and its `training_info`."""
    tuned_for = read_task(opened)
    if tuned_for is not None:
        tuned_for = tuned_for.as_trained(opened.info.get("dev", {}))
    (own, _), source = opened.head(), opened.path
    model_class, answers = _choose(own, answers_of(own), tuned_for, task, source)
    tokenizer = tokenizer or opened.tokenizer()
    model = opened.model(model_class, **{**model_class.family.alone, **execution})
    info = opened.info or model.task_info() or {}
    facts = {k: v for k, v in info.items() if not isinstance(v, list)}
    tokenizer = tokenizer_for_model(tokenizer, model.config, source)
    return _served(without_adapters(model), answers, tokenizer), facts, [info]


def _served(model, answers, tokenizer):
    """Makes the `Served` model for a `Task`, or for a serving-only `Task` class."""
    task = answers if isinstance(answers, Task) else bound(answers, tokenizer)
    return Served(model, task, tokenizer)


def _several(bundles, tokenizer, execution):
    """Returns what `_one` does, for several models with one encoder."""
    tokenizer = tokenizer or bundles[0].tokenizer()
    tasks, infos = _tasks_by_name(bundles)
    model = SharedEncoder(models_of_one_encoder(bundles, tasks, **execution))
    tokenizer = tokenizer_for_model(tokenizer, model.config, bundles[0].path)
    facts = {"tasks": {name: task.to_dict() for name, task in tasks.items()}}
    task = SeveralTasks(name="several", tasks=tasks)
    return Served(model, task, tokenizer), facts, infos


def build_module_of(model, tokenizer, task="auto", exit_rule=None):
    """Builds what `build_module` does, for a `PretrainedModel` in memory.

    The module shares the model's variables, so later training changes its answers.

    Raises:
        UserError: the model does not fit the task or the tokenizer.
    """
    source, info = f"This {type(model).__name__}", model.task_info() or {}
    if getattr(model.encoder().config, "bi_data", False):
        raise UserError(
            f"{source} has bi_data and would read half of the texts as reversed; load "
            "it with from_pretrained(path, bi_data=False)."
        )
    known = {
        name: (owner, answers)
        for name, (owner, answers) in answers_of(type(model)).items()
        if owner is type(model) or isinstance(model.encoder(), owner)
    }
    tuned_for = task_of(info, source, type(model), model.head_config())
    model_class, answers = _choose(type(model), known, tuned_for, task, source)
    network = model if model_class is type(model) else model.encoder()
    tokenizer = tokenizer_for_model(tokenizer, model.config, "memory")
    served = _served(network, answers, tokenizer)
    _choose_exit(served, exit_rule, source)
    return _module(served, {}, [info])


def build_module_of_file(path, facts, file=None):
    """Builds the `ServingModule` of a file that takes token ids, and its tokenizer.

    Args:
        path: the file's.
        facts: the content of the `signature.json` beside it.
        file: the `TokenFile`, if it is open.

    Raises:
        UserError: the file does not load, or its runtime is not installed.
    """
    tokenizer = read_tokenizer(path.parent)
    served = Served(None, task_served(facts, tokenizer), tokenizer)
    try:
        served.compute = (file or TokenFile(path)).in_graph
    except UserError:
        raise
    except Exception as error:  # its class depends on the runtime
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"{path} is damaged, or keeps weights in other files ({reason}); export "
            "the model again."
        ) from error
    if facts.get("inputs") == facts["text_inputs"]:
        served.feature_specs = served.text_specs
        return ServingModule(served, _as_given)
    features = served.task.text_features(tokenizer, facts["max_seq_length"])
    return ServingModule(served, features)


def _as_given(prompt=None, **strings):
    """Returns strings by name, for a file that takes them."""
    if prompt is not None:
        strings["text"] = tf.strings.join([prompt, strings["text"]])
    return strings


def task_served(facts, tokenizer=None):
    """Makes the `Task` of an export's outputs.

    Args:
        facts: the dict of the export's `signature.json`; {} without it. Outputs of an
            unknown task stay as they are.
        tokenizer: the export's; None if only `answer` is needed.
    """
    if "tasks" in facts:
        known = {n: _known_task({"task": own}) for n, own in facts["tasks"].items()}
        tasks = {name: task or Task(name=name) for name, task in known.items()}
        return SeveralTasks(name="several", tasks=tasks)
    task, name = _known_task(facts), facts.get("serves")
    if task is not None and task.serves == name:
        return task
    return answers_named(name, tokenizer)


def _known_task(facts):
    try:
        return task_of(facts, "the exported model")
    except UserError:  # a task of another version; its outputs can be read without it
        return None


def _choose(model_class, known, tuned_for, task, source):
    """Chooses the model class, and the task or its class, for the requested answer."""
    own = usual_answer(model_class)
    own_models = () if tuned_for is None else tuned_for.model_classes().values()
    if issubclass(model_class, tuple(own_models)):
        own = tuned_for.serves
        answers = {own: (model_class, tuned_for)}
        known = {**answers, **known, **answers}  # its own before the encoder's
    if not known:
        raise UserError(
            f"{source} is an {model_class.__name__}, which cannot be served; export a "
            "model of another kind, such as what albert-tf classify makes of it."
        )
    asked = own if task == "auto" else task
    if asked is None:
        raise UserError(
            f"{source} does not say what its outputs mean; fine-tune it with labels="
            f"[…], or ask for task={next(iter(known))}."
        )
    if asked not in known:
        raise UserError(
            f"task={asked} does not fit {source}, which was not fine-tuned for "
            f"it; choose from {', '.join(known)}."
        )
    return known[asked]


def _choose_exit(served, asked, source, serving_options=()):
    """Sets the early-exit rule; `source` is for messages."""
    exit_heads = getattr(served.model, "exit_heads", None)
    if asked not in (None, "none") and exit_heads is None:
        raise UserError(
            f"{source} has no exit heads, so that no text can leave early, or shares "
            "its encoder with other models; leave the exit rule out, or fine-tune it "
            "with --early_exit and serve it alone."
        )
    served.exit_rule = rule = asked_rule(served.exit_rule, asked)
    if rule is not None and dict(serving_options).get("optimize_for") == "latency":
        raise UserError(
            "--optimize_for=latency compiles with XLA, which needs to know how many "
            f"rows stay, but {source} lets them leave early; leave --optimize_for out, "
            "or answer at full depth with --exit_rule=none."
        )


def _module(served, facts, infos, max_seq_length=None, serving_options=()):
    task, length = served.task, served.config.row_length(max_seq_length, infos)
    served.longest = served.config.max_position_embeddings or length
    facts = {
        **facts,
        **({"task": task.to_dict()} if task.kind else {}),
        "serves": task.serves,
        "max_seq_length": length,
        "text_inputs": list(task.text_inputs),
    }
    if served.exit_rule is not None:
        facts["exit_rule"] = dataclasses.asdict(served.exit_rule)
    layout = served.tokenizer.layout
    if layout != CLS_FIRST:
        facts["row_layout"] = layout.name
    features = task.text_features(served.tokenizer, length)
    return ServingModule(served, features, **dict(serving_options)), served, facts


def _tasks_by_name(bundles):
    """Returns the tasks by the names of their folders, and the `training_info`s."""
    tasks, infos = {}, []
    for opened in bundles:
        task = read_task(opened)
        if task is None:
            raise UserError(f"{opened.path} was not fine-tuned; export it by itself.")
        path = pathlib.Path(opened.path).resolve()
        name = path.parent.name if path.name == MODEL_DIR else path.name
        if name in tasks:
            raise UserError(
                f"Two models of --model_dir are called {name!r}; rename one."
            )
        tasks[name] = task
        infos.append(opened.info)
    return tasks, infos
