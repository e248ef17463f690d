"""Start of a pretraining run: tokenizer, model, and the facts of both."""

from absl import logging

from albert_tf import bundle
from albert_tf.bundle import warm_start
from albert_tf.engine.resumption import RESTART_DATA
from albert_tf.engine.resumption import UNKNOWN
from albert_tf.engine.resumption import Fact
from albert_tf.errors import UserError
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.objectives.masked_lm import sentence_heads
from albert_tf.tokenization.loading import tokenizer_of
from albert_tf.tokenization.tokenizer import UNRECORDED

_PRETRAINING_HEADS = "cls/"
_DIGITS = 16  # of a fingerprint, for messages
_OFFICIAL_HEADS = {"sentence_order": 2}
# Neither a weight nor what the model computes depends on them; the paper's longest run
# goes on without dropout after a million steps (section 4.8).
_MAY_CHANGE = (
    "attention_probs_dropout_prob",
    "hidden_dropout_prob",
    "dropatt",
    "dropout",
    "initializer_range",
)


def load_tokenizer(flags):
    """Loads the tokenizer of `ModelFlags`, or else of `--init_checkpoint`.

    Returns:
        A tokenizer, or None: the official command names none, and records that are
        masked already can be trained on without.

    Raises:
        UserError: `--init_checkpoint` was trained with another.
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


def initial_model(flags, config, terms):
    """Builds the model before the first step, to train the `HeadTerm`s.

    A head without one does not train, nor does the pooler if no head needs it: nothing
    but weight decay would reach them.

    Raises:
        UserError: a checkpoint that does not fit.
    """
    trained_heads = sentence_heads(terms)
    heads = {**_OFFICIAL_HEADS, **trained_heads}
    arguments = {"sentence_heads": heads, **flags.execution}
    allowed = (_PRETRAINING_HEADS,)
    model = first_model(AlbertForPreTraining, flags, config, allowed, arguments)
    model.albert.pooler.trainable = bool(trained_heads)
    for name in heads:
        model.sentence_head(name).trainable = name in trained_heads
    return model


def first_model(model_class, flags, config, allow_missing, arguments):
    """Returns a model that begins anew, or with the weights of a checkpoint.

    Args:
        model_class: a `PretrainedModel` of ALBERT's family.
        flags, config: the `ModelFlags` and the `AlbertConfig`.
        allow_missing: beginnings of official names that the checkpoint may lack.
        arguments: dict of further constructor arguments.

    Raises:
        UserError: a checkpoint that does not fit.
    """
    if not flags.init_checkpoint:
        return model_class(config, **arguments)
    opened, rule = bundle.open(flags.init_checkpoint), flags.init_rule
    model, report = warm_start(
        model_class, opened, config, rule, allow_missing, **arguments
    )
    logging.info("%s", "\n".join(report))
    return model


def load_teacher(flags, config, tokenizer, phases):
    """Loads the model that a run learns from; returns None without one.

    Args:
        flags: the `ModelFlags`.
        config, tokenizer: the student's; the latter may be None.
        phases: the `PhaseFlags` of each phase.

    Raises:
        UserError: it cannot be read, or does not fit the student.
    """
    if flags.teacher is None:
        return None
    dtype = {"dtype": flags.execution["dtype"]}
    may_lack = ("cls/seq_relationship", "bert/pooler")
    model = bundle.open(flags.teacher).model(AlbertForPreTraining, may_lack, **dtype)
    own = tokenizer_of(flags.teacher)
    name = f"--teacher={flags.teacher}"
    is_other = own and tokenizer and own.fingerprint() != tokenizer.fingerprint()
    if is_other or model.config.vocab_size != config.vocab_size:
        raise UserError(
            f"{name} has another vocabulary than the model, which would learn other "
            "words; name a teacher with the model's vocabulary."
        )
    length = max(phase.max_seq_length for phase in phases)
    if model.config.longest_row(length) < length:
        raise UserError(
            f"{name} has {model.config.max_position_embeddings} positions, but "
            f"--max_seq_length={length}; shorten the sequences."
        )
    _check_layers(flags, config, model.config)
    return model


def _check_layers(flags, own, theirs):
    """Refuses `--teacher_layers` that one of two `AlbertConfig`s does not have."""
    if not flags.layer_pairs():
        return
    flag = f"--teacher_layers={flags.teacher_layers}"
    if flags.depth_loop:
        raise UserError(f"{flag} needs each layer, which --depth_loop does not keep.")
    if own.hidden_size != theirs.hidden_size:
        raise UserError(
            f"{flag} compares layers of one width, but the model has hidden_size="
            f"{own.hidden_size} and --teacher={flags.teacher} {theirs.hidden_size}; "
            "leave it out, and learn the masked words."
        )
    for place, config in enumerate((own, theirs)):
        blocks = config.num_hidden_layers * config.inner_group_num
        if not all(0 <= pair[place] < blocks for pair in flags.layer_pairs()):
            whose = ("the model has", "the teacher has")[place]
            raise UserError(f"{flag}: {whose} the layers 1 to {blocks}.")


def named_facts(config_file, config, tokenizer, terms, phases, data_digest):
    """Makes the `Fact`s that no flag holds but that flags name, or make together.

    Args:
        config_file, config: the file, and the `AlbertConfig` or `XLNetConfig` of it.
        tokenizer: the tokenizer, or None.
        terms, phases: the `HeadTerm`s, and the `PhaseFlags` of each phase.
        data_digest: tells the training data from other data; None if unknown.
    """
    fields = [
        Fact(f"config.{name}", value, f"{name} in {config_file}", name in _MAY_CHANGE)
        for name, value in config.to_dict().items()
    ]
    return (
        _tokenizer_fact(tokenizer),
        *fields,
        Fact(
            "loss_terms",
            [term.name for term in terms],
            "What --sentence_objective and the data let the model learn",
        ),
        Fact(
            "data",
            UNKNOWN if data_digest is None else data_digest,
            "The digest of what dataset_info.json says of --input_file",
            RESTART_DATA,
        ),
        Fact(
            "batch_sizes",
            [phase.train_batch_size for phase in phases],
            "The batch of each part of the run, which --batch_ramp_steps, "
            "--gradient_accumulation_steps and --first_phase_steps make,",
            RESTART_DATA,
        ),
    )


def _tokenizer_fact(tokenizer):
    label = "The fingerprint of the vocabulary (--spm_model_file or --vocab_file)"
    if tokenizer is None:
        return Fact("tokenizer", UNKNOWN, label)
    value, earlier = tokenizer.fingerprint(), tokenizer.earlier_fingerprint()
    return Fact(
        "tokenizer", value[:_DIGITS], label, earlier={earlier[:_DIGITS]: UNRECORDED}
    )
