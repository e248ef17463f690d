"""Facts of a fine-tuning run, which are the same when the run is continued."""

import dataclasses
import os

from albert_tf.engine.resumption import Fact
from albert_tf.engine.resumption import check_facts
from albert_tf.engine.resumption import flag_facts
from albert_tf.io.files import read_json_object
from albert_tf.tokenization.tokenizer import UNRECORDED

# Version 0.1.0 kept the flags of a run in it, and nothing in its checkpoints.
_EARLIER_FLAGS = "flags.json"


def run_facts(options, examples):
    """Lists the `Fact`s of a run that are known before its model is.

    Args:
        options: `TaskOptions`.
        examples: the `Examples` by name; those to train and to choose on count.

    Raises:
        UserError: version 0.1.0 began the run, with other flags.
    """
    # Where no casing is given, the vocabulary decides, whose fingerprint is a fact.
    lowers = options.do_lower_case is not False
    flags = flag_facts(dataclasses.replace(options, do_lower_case=lowers))
    path = os.path.join(options.output_dir, _EARLIER_FLAGS)
    if os.path.exists(path):
        check_facts(flags, read_json_object(path), options.output_dir)
    files = [
        Fact(f"examples.{name}", own.digest(), f"The digest of {own.path}")
        for name, own in examples.items()
        if own.role != "test"
    ]
    return (*flags, *files)


def model_facts(tokenizer, config):
    """Lists the `Fact`s that a run's flags name: vocabulary and configuration."""
    fields = [
        Fact(f"config.{name}", value, f"{name} of the model's configuration")
        for name, value in config.to_dict().items()
    ]
    fingerprint = Fact(
        "tokenizer",
        tokenizer.fingerprint(),
        "The vocabulary's fingerprint",
        earlier={tokenizer.earlier_fingerprint(): UNRECORDED},
    )
    return (fingerprint, *fields)
