"""Initializes a pretraining run: tokenizer, model, teacher, and the run's identity."""

from absl import logging

from albert_tf import bundle
from albert_tf.bundle import warm_start
from albert_tf.engine.resumption import RESTART_DATA
from albert_tf.engine.resumption import UNKNOWN
from albert_tf.engine.resumption import IdentityEntry
from albert_tf.engine.resumption import flag_identity
from albert_tf.engine.resumption import teacher_identity
from albert_tf.errors import UserError
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.objectives.masked_lm import sentence_heads
from albert_tf.tokenization.loading import tokenizer_of

_PRETRAINING_HEADS = "cls/"
_DIGITS = 16  # of a fingerprint, for messages
_BY_DESCRIPTION = (
    "an earlier version began it, and recorded what dataset_info.json says of the "
    "data, but not which of the files it reads"
)
# Config fields that affect neither the weights nor inference; the paper's longest run
# continues without dropout after a million steps (section 4.8).
_MAY_CHANGE = (
    "attention_probs_dropout_prob",
    "hidden_dropout_prob",
    "dropatt",
    "dropout",
    "initializer_range",
)


def load_tokenizer(flags):
    """Loads the tokenizer that `ModelFlags` name, or else that of `--init_checkpoint`.

    Returns:
        A tokenizer, or None: the official command takes none, and training on
        pre-masked records does not need one.

    Raises:
        UserError: `--init_checkpoint` was trained with another tokenizer.
    """
    named = flags.spm_model_file or flags.vocab_file
    casing = flags.do_lower_case if named else None
    tokenizer = tokenizer_of(flags.init_checkpoint, named, casing)
    if tokenizer is None:
        logging.warning(
            "Without --spm_model_file or --vocab_file, the model directory will "
            "hold no vocabulary, and nothing checks that the data fits."
        )
    return tokenizer


def initial_model(flags, config, terms, start=None):
    """Builds the initial model for training on the `HeadTerm`s.

    Heads without a term are not trained, nor is the pooler if no head needs it, since
    they would only decay.

    Args:
        flags, config: the `ModelFlags` and the `AlbertConfig`.
        terms: the `HeadTerm`s.
        start: the `Bundle` of `--init_checkpoint`, or None.

    Raises:
        UserError: the checkpoint does not fit.
    """
    trained_heads = sentence_heads(terms)
    model = first_model(
        AlbertForPreTraining,
        flags,
        config,
        start,
        (_PRETRAINING_HEADS,),
        sentence_heads=trained_heads,
    )
    model.albert.train_pooler(bool(trained_heads))
    for name in model.sentence_heads:
        model.sentence_head(name).trainable = name in trained_heads
    return model


def first_model(model_class, flags, config, start, allow_missing, **arguments):
    """Builds a model with random weights, or with the weights of a checkpoint.

    Args:
        model_class: a `PretrainedModel` of ALBERT's family.
        flags, config, start: see `initial_model`.
        allow_missing: prefixes of official names that the checkpoint may lack.
        **arguments: further constructor arguments.

    Raises:
        UserError: the checkpoint does not fit.
    """
    arguments |= flags.execution
    if start is None:
        return model_class(config, **arguments)
    model, report = warm_start(
        model_class, start, config, flags.init_rule, allow_missing, **arguments
    )
    logging.info("%s", "\n".join(report))
    return model


def load_teacher(flags, config, tokenizer):
    """Loads the teacher of a run; returns None without `--teacher`.

    Args:
        flags: the `ModelFlags`.
        config, tokenizer: the student's; the tokenizer may be None.

    Raises:
        UserError: the teacher is unreadable or does not fit the student.
    """
    if flags.teacher is None:
        return None
    dtype = {"dtype": flags.execution["dtype"]}
    may_lack = ("cls/seq_relationship", "bert/pooler")
    model = bundle.open(flags.teacher).model(AlbertForPreTraining, may_lack, **dtype)
    own = tokenizer_of(flags.teacher)
    is_other = own and tokenizer and own.fingerprint() != tokenizer.fingerprint()
    if is_other or model.config.vocab_size != config.vocab_size:
        raise UserError(
            f"--teacher={flags.teacher} has another vocabulary than the model, which "
            "would learn other words; name a teacher with the model's vocabulary."
        )
    blocks = [c.num_hidden_layers * c.inner_group_num for c in (config, model.config)]
    for pair in flags.layer_pairs():
        flag = f"--teacher_layers={flags.teacher_layers}"
        if flags.depth_loop:
            raise UserError(
                f"{flag} needs each layer, which --depth_loop does not keep."
            )
        if not all(0 <= layer < last for layer, last in zip(pair, blocks, strict=True)):
            raise UserError(
                f"{flag}: the model has the layers 1 to {blocks[0]}, the teacher 1 to "
                f"{blocks[1]}."
            )
    return model


def run_identity(options, config, tokenizer, terms, data, start=None, teacher=None):
    """Makes the `IdentityEntry`s of a run: its flags, and the contents they refer to.

    Args:
        options: the resolved `PretrainingOptions`.
        config, tokenizer: the model's; the tokenizer may be None.
        terms: the `HeadTerm`s.
        data: the `PretrainingData`.
        start: the `Bundle` of `--init_checkpoint`, or None.
        teacher: the model of `--teacher`, or None.
    """
    fields = [
        IdentityEntry(
            f"config.{name}",
            value,
            f"{name} in {options.albert_config_file}",
            name in _MAY_CHANGE,
        )
        for name, value in config.to_dict().items()
    ]
    digest, earlier_digest = data.digests()
    return (
        *flag_identity(options, input_file="data", second_phase_input_file="data"),
        _tokenizer_identity(tokenizer),
        *fields,
        IdentityEntry(
            "loss_terms",
            [term.name for term in terms],
            "What --sentence_objective and the data let the model learn",
        ),
        IdentityEntry(
            "data",
            UNKNOWN if digest is None else digest,
            "The digest of the files of --input_file",
            RESTART_DATA,
            earlier={earlier_digest: _BY_DESCRIPTION},
        ),
        IdentityEntry(
            "batch_sizes",
            [phase.train_batch_size for phase in options.phases()],
            "The batch of each part of the run, which --batch_ramp_steps, "
            "--gradient_accumulation_steps and --first_phase_steps make,",
            RESTART_DATA,
        ),
        IdentityEntry(
            "init_weights",
            UNKNOWN if start is None else start.digest(),
            "The fingerprint of the weights of --init_checkpoint",
        ),
        teacher_identity(teacher),
    )


def _tokenizer_identity(tokenizer):
    label = "The fingerprint of the vocabulary (--spm_model_file or --vocab_file)"
    if tokenizer is None:
        return IdentityEntry("tokenizer", UNKNOWN, label)
    value, earlier = tokenizer.fingerprint(), tokenizer.earlier_fingerprints()
    earlier = {digest[:_DIGITS]: warning for digest, warning in earlier.items()}
    return IdentityEntry("tokenizer", value[:_DIGITS], label, earlier=earlier)
