"""Implements `albert-tf squad`."""

from albert_tf.errors import UserError
from albert_tf.tasks.commands.run import check_steps
from albert_tf.tasks.commands.run import run_task
from albert_tf.tasks.question_answering.questions import question_file
from albert_tf.tasks.question_answering.questions import read_question_file
from albert_tf.tasks.registry import create_task

_OF_BOTH = ("doc_stride", "max_query_length", "n_best_size", "max_answer_length")
_THRESHOLD = "null_score_diff_threshold"


def train_and_apply(options):
    """Runs the command once; see `TaskOptions.command`."""
    tuned = options.tuned()
    task, examples = read_files(options, tuned)
    # The official --do_predict scores, too.
    evaluates = "dev" in examples and (options.do_eval or options.do_predict)
    return run_task(options, task, examples, evaluates, "test" in examples, tuned)


def check_flags(options):
    """Checks the flags; see `TaskOptions.command`."""
    check_steps(options)
    if options.do_train and not options.train_file:
        raise UserError("--do_train needs --train_file.")
    if options.reads_examples and not options.predict_file:
        raise UserError(
            "--predict_file is needed to predict and to score, and in training to "
            "choose the best checkpoint."
        )
    if options.version == 1 and options.null_score_diff_threshold is not None:
        raise UserError(f"--{_THRESHOLD} is for --version=2.")


def read_files(options, tuned):
    """Reads the task of the flags, and the `QuestionFile`s by role.

    Raises:
        UserError: the files do not fit the requested steps.
    """
    found, examples = read_question_file(options.predict_file), {}
    is_labelled = any(q.answers or q.is_impossible for q in found.questions)
    if not is_labelled and (options.do_train or options.do_eval):
        raise UserError(
            f"{options.predict_file} has no answers, and cannot be scored; name a file "
            "with answers, or predict it with --do_predict alone."
        )
    skips = options.skip_bad_rows
    if options.do_train:
        learned = read_question_file(options.train_file)
        version = options.version or learned.version
        task = _task(options, version, options.null_score_diff_threshold)
        examples["train"] = question_file(learned, version, "train", skips)
    else:
        task = _task_to_apply(options, *tuned, found, is_labelled)
    role = "dev" if is_labelled else "test"
    examples[role] = question_file(found, task.version, role, skips)
    return task, examples


def _task_to_apply(options, opened, tuned, found, is_labelled):
    """Returns the task of a fine-tuned model, with the answer settings of the flags."""
    version = options.version or getattr(tuned, "version", found.version)
    threshold = options.null_score_diff_threshold
    if version == 2 and threshold is None and not is_labelled:
        threshold = opened.facts.get("dev", {}).get(_THRESHOLD)
        if threshold is None:
            raise UserError(
                f"{options.predict_file} has no answers and {opened.path} knows no "
                f"threshold for questions without one; give --{_THRESHOLD}."
            )
    task = _task(options, version, threshold)
    tuned.check_fits(opened.path, task)
    return task


def _task(options, version, threshold):
    fields = {name: getattr(options, name) for name in _OF_BOTH}
    if version == 2:
        fields |= {
            "start_n_top": options.start_n_top,
            "end_n_top": options.end_n_top,
            "head_dropout_prob": options.dropout_prob,
            _THRESHOLD: threshold,
        }
    elif threshold is not None:
        raise UserError(f"--{_THRESHOLD} is for SQuAD 2.0; leave it out.")
    return create_task(f"squad_v{version}", "squad", **fields)
