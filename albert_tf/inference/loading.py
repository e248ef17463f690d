"""Loads the inputs of inference: a model with its tokenizer, and texts from a file."""

from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.io.table_rows import is_table
from albert_tf.io.text_files import read_lines
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
from albert_tf.tasks.tables import Columns
from albert_tf.tasks.tables import has_column
from albert_tf.tasks.tables import read_table
from albert_tf.tokenization.loading import tokenizer_for_model

_TAB = "\t"
_TEXT, _PAIR = "text", "text_pair"


def load(opened, model_class, **arguments):
    """Loads the model and tokenizer of a `Bundle`; the model reads each text alone.

    Args:
        opened: the `Bundle`.
        model_class: the class of the model, such as `guessing_class(opened)`.
        **arguments: constructor arguments of the model.

    Raises:
        UserError: the model or tokenizer is missing, or they do not match.
    """
    tokenizer = opened.tokenizer()
    model = opened.model(model_class, **{**model_class.family.alone, **arguments})
    return model, tokenizer_for_model(tokenizer, model.config, opened.path)


def guessing_class(opened):
    """Returns the class that predicts masked tokens with the model of a `Bundle`."""
    return registry.model_for("masked_lm", opened.family)


def language_model_class(opened):
    """Returns the class that scores texts with the model of a `Bundle`."""
    if AlbertForReplacedTokens in opened.saved:
        return AlbertForReplacedTokens
    return guessing_class(opened)


def read_texts(path):
    """Reads texts from a table, or one text per line from any other file.

    Pairs are in the columns `text` and `text_pair` of a table; in other files a tab
    separates the two texts on a line.

    Returns:
        A list of texts, and a list of second texts or None.

    Raises:
        UserError: the file is unreadable or empty, the table lacks a column, or only
            some lines have two texts.
    """
    if is_table(path):
        pair = _PAIR if has_column(path, _PAIR) else None
        table = read_table(path, Columns(_TEXT, pair))
        return table.texts, table.text_pairs
    rows = [line.split(_TAB) for line in read_lines(path)]
    if not rows:
        raise UserError(f"{path} is empty; expected a text on each line.")
    for number, row in enumerate(rows, 1):
        if len(row) > 2 or len(row) != len(rows[0]):
            raise UserError(
                f"{path}, line {number}: expected {min(len(rows[0]), 2)} text(s) as on "
                f"the first line, found {len(row)}; separate the two texts of a pair "
                "by a tab."
            )
    texts, *pairs = map(list, zip(*rows, strict=True))
    return texts, pairs[0] if pairs else None


def check_lengths(rows, config):
    """Checks that each list of ids in `rows` fits into the model's positions."""
    for number, row in enumerate(rows, 1):
        positions = config.longest_row(len(row))
        if positions < len(row):
            raise UserError(
                f"Text {number} has {len(row)} tokens, special tokens included, but "
                f"the model has only {positions} positions; shorten it."
            )
