"""Inputs of inference: a model and its tokenizer from one place, texts from a file."""

from albert_tf import bundle
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


def load(choose_class, path, revision=None, **arguments):
    """Loads the model of a folder, and the tokenizer that lies beside it.

    Args:
        choose_class: from a `Bundle` to the class of the model, such as
            `encoder_class`.
        path, revision: see `bundle.open`.
        **arguments: constructor arguments of the model.

    Raises:
        UserError: one of them is missing, or they do not fit.
    """
    opened = bundle.open(path, revision)
    model_class, tokenizer = choose_class(opened), opened.tokenizer()
    model = opened.model(model_class, **{**model_class.family.alone, **arguments})
    return model, tokenizer_for_model(tokenizer, model.config, opened.path)


def encoder_class(opened):
    """Returns the class of the encoder of a `Bundle`."""
    return registry.model_for("encoder", opened.family)


def guessing_class(opened):
    """Returns the class by which the model of a `Bundle` guesses hidden tokens."""
    return registry.model_for("masked_lm", opened.family)


def language_model_class(opened):
    """Returns the class by which the model of a `Bundle` scores texts."""
    if AlbertForReplacedTokens in opened.saved:
        return AlbertForReplacedTokens
    return guessing_class(opened)


def read_texts(path):
    """Reads a table (one of `SUFFIXES`), or a text a line from any other file.

    Args:
        path: the file. A table has a column `text` and, for pairs, `text_pair`; in
            other files a tab stands between the two texts of a line.

    Returns:
        A list of texts, and a list of second texts or None.

    Raises:
        UserError: the file cannot be read or is empty, the table lacks a column, or
            only some lines hold two texts.
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
                f"{path}, line {number}: expected {_counted(min(len(rows[0]), 2))} as "
                f"on the first line, found {_counted(len(row))}; separate the two "
                "texts of a pair by a tab."
            )
    texts, *pairs = map(list, zip(*rows, strict=True))
    return texts, pairs[0] if pairs else None


def check_lengths(rows, config):
    """Refuses texts, by their ids in `rows`, that are longer than a model reads."""
    for number, row in enumerate(rows, 1):
        positions = config.longest_row(len(row))
        if positions < len(row):
            raise UserError(
                f"Text {number} has {len(row)} tokens, special tokens included, but "
                f"the model has only {positions} positions; shorten it."
            )


def _counted(texts):
    return f"{texts} text{'s' if texts > 1 else ''}"
