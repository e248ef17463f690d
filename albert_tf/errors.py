"""The one exception type for mistakes in a user's input."""


class UserError(ValueError):
    """Bad input: a file, flag, configuration value or checkpoint that does not fit.

    The message is one sentence that names the file or value, the expectation and the
    remedy. Command lines print it without a traceback and exit with status 1.
    """

    # Keras adds lines on the arguments of `call` to errors that lack this mark.
    _keras_call_info_injected = True
