"""Fine-tunes and applies a model that finds names and other entities in texts.

  albert-tf tag --data_dir=conll2003 --init_checkpoint=albert_base \\
      --output_dir=out --do_train --do_eval --do_predict --num_train_epochs=3

--data_dir holds train.*, dev.* and test.*, each in one of three forms: CoNLL's columns
(.conll, .conllu, .txt, .tsv, .iob, .bio, .bioes), a word and its tag a line and a blank
line between sentences; .jsonl with {"tokens": […], "tags": […]}; or .jsonl with
{"text": …, "spans": [{"start": 0, "end": 2, "label": "ORG"}]}. Tags are IOB1, IOB2 or
BIOES; with --scheme=plain, each word has an independent tag, such as its part of
speech.

The command writes to --output_dir: model/ (the best checkpoint by F1 on dev, or by
accuracy for plain tags), checkpoints/, eval_results.txt, predictions.conll or
predictions.jsonl in the format of the test file, and <split>_errors.html, a page of the
errors. docs/tagging.md says more.
"""

import dataclasses

from albert_tf.cli.command_line import altered
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.tasks.commands.flags import TaskOptions
from albert_tf.tasks.commands.flags import obey
from albert_tf.tasks.tagging.schemes import DECODERS
from albert_tf.tasks.tagging.schemes import GREEDY
from albert_tf.tasks.tagging.sentences import TagFileFlags


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaggingOptions(TagFileFlags, TaskOptions):
    """The flags of `albert-tf tag`."""

    do_predict: bool = altered(
        TaskOptions,
        "do_predict",
        help="Predict the test set, and score it if it has tags.",
    )
    data_dir: str | None = option(
        "Folder of train.*, dev.* and test.*, or such a hf://owner/name.",
        None,
        names="tables",
        may_change=True,  # its digest is a fact
    )
    decoder: str | None = option(
        "Choice of tags. greedy: the most probable tag of each word; legal: the "
        "most probable sequence that the scheme has. By default greedy in training, "
        "and without --do_train the model's.",
        None,
        DECODERS,
    )
    max_seq_length: int = altered(
        TaskOptions,
        "max_seq_length",
        default=128,
        help="Largest length of a window in tokens; longer sentences have several "
        "windows. Without --do_train the model's.",
    )
    doc_stride: int = option(
        "Number of tokens from the start of a window to the start of the next; "
        "without --do_train the model's.",
        64,
        minimum=1,
    )
    dropout_prob: float = option(
        "Dropout on the vectors of tokens, in training.", 0.1, minimum=0
    )

    @property
    def command(self):
        from albert_tf.tasks.tagging import run

        return run

    def completed(self):
        """Fills in the default decoder of training, so that a run records it."""
        if self.do_train and self.decoder is None:
            return dataclasses.replace(self, decoder=GREEDY)
        return self


def main(argv=None):
    """Fine-tunes, scores, tags and exports as the flags say."""
    run(TaggingOptions, obey, argv=argv)
