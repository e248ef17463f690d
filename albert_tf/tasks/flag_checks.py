"""Flags of run_classifier that do not fit together, found before anything is done."""

from albert_tf.errors import UserError
from albert_tf.hub.names import REPOSITORY_SCHEME
from albert_tf.storage import require_disk
from albert_tf.tasks.glue import GLUE_PAGE

_PLACES = ("data_dir", "init_checkpoint", "output_dir", "cached_dir", "export_dir")


def asks_raw_text(options):
    """Whether --do_predict is meant for raw text, and not for the test table."""
    return options.input_text is not None or bool(options.input_file)


def check_flags(options):
    """Refuses flags that cannot be followed or would have no effect.

    Raises:
        UserError: a folder lies in a bucket or on the Hugging Face Hub, nothing is to
            be done, or texts are given that nothing would read.
    """
    if str(options.data_dir).startswith(REPOSITORY_SCHEME):
        raise UserError(
            f"--data_dir={options.data_dir} is not downloaded here, only models are; "
            f"get the GLUE files from {GLUE_PAGE}, unpack them and name their folder."
        )
    for flag in _PLACES:
        require_disk(flag, getattr(options, flag))
    if options.input_text is not None and options.input_file:
        raise UserError(
            "--input_text and --input_file cannot be predicted in one run; give one."
        )
    if options.input_text_pair is not None and options.input_text is None:
        raise UserError(
            "--input_text_pair needs --input_text; in an --input_file a tab stands "
            "between the two texts of a line."
        )
    if asks_raw_text(options) and not options.do_predict:
        raise UserError(
            "--input_text and --input_file need --do_predict; give it, too."
        )
    if not (
        options.do_train or options.do_eval or options.do_predict or options.export_dir
    ):
        raise UserError(
            "Nothing to do: give --do_train, --do_eval, --do_predict or --export_dir."
        )


def check_flags_of_several_runs(options):
    """Refuses what does not fit several runs, the best of which nothing picks.

    Raises:
        UserError: they are not both trained and evaluated, or one model is asked for.
    """
    if not (options.do_train and options.do_eval):
        raise UserError("--num_runs needs --do_train and --do_eval.")
    if options.export_dir or asks_raw_text(options):
        raise UserError(
            "--export_dir, --input_text and --input_file need one model, not "
            f"--num_runs={options.num_runs}; give them in a second command, with "
            "--output_dir naming the folder of one run, such as "
            f"{options.output_dir}/run_0."
        )
