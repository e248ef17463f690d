"""The one exception type for mistakes in a user's input, and parts of its sentence."""

import contextlib


class UserError(ValueError):
    """Bad input: a file, flag, configuration value or checkpoint that does not fit.

    The message is one sentence that names the file or value, the expectation and the
    remedy. Command lines print it without a traceback and exit with status 1.
    """

    # Keras adds lines on the arguments of `call` to errors that lack this mark.
    _keras_call_info_injected = True


def shortened(names):
    """Joins the first names of a list for a sentence, and counts the others."""
    first, others = ", ".join(names[:5]), names[5:]
    return f"{first} and {len(others)} more" if others else first


@contextlib.contextmanager
def of_extra(name, need):
    """Says how to install a package that the `with` block imports and does not find.

    Args:
        name: of the extra that brings the package.
        need: the beginning of the sentence.

    Raises:
        UserError: an import fails.
    """
    try:
        yield
    except ImportError as error:
        raise UserError(f"{need}: pip install 'albert-tf[{name}]'.") from error
