"""Texts longer than a row: their beginning, head and tail, or windows."""

import dataclasses

from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.models.flags import WINDOW_POOLINGS

TRUNCATE, HEAD_TAIL, WINDOWS = LONG_TEXTS = ("truncate", "head_tail", "windows")
_WHOLE = 2**31 - 1  # a stride above the tokens of any row


@dataclasses.dataclass(frozen=True, kw_only=True)
class LongTexts:
    """Texts longer than --max_seq_length."""

    long_texts: str = option(
        "Part of a long text to read: truncate reads its beginning; head_tail the "
        "first quarter of a row from its beginning and the rest from its end; windows "
        "all of it, row by row.",
        TRUNCATE,
        LONG_TEXTS,
    )
    doc_stride: int | None = option(
        "Number of tokens from the beginning of one window to the next; by default "
        "windows do not overlap.",
        None,
        minimum=1,
    )
    window_pooling: str = option(
        "Pooling of the outputs of a text's windows, in training, too.",
        WINDOW_POOLINGS[0],
        WINDOW_POOLINGS,
    )

    @property
    def in_windows(self):
        """True if a text is read in windows."""
        return self.long_texts == WINDOWS

    @property
    def head_tail(self):
        """True if a long text is read at both ends."""
        return self.long_texts == HEAD_TAIL

    @property
    def stride(self):
        """The number of tokens between windows, at least a row's without overlap."""
        return self.doc_stride or _WHOLE

    def settings(self):
        """Returns the fields that have an effect, by name."""
        fields = {field.name: getattr(self, field.name) for field in _FIELDS}
        if self.in_windows:
            return fields
        return {} if self.long_texts == TRUNCATE else {"long_texts": self.long_texts}

    def with_settings(self, fields):
        """Returns a dict of fields, of the group's the `settings` alone."""
        own = {field.name for field in _FIELDS}
        others = {name: value for name, value in fields.items() if name not in own}
        return {**others, **self.settings()}

    @staticmethod
    def chosen(stored, *values):
        """Returns the fields by name: those given, else those of a fine-tuned model.

        Args:
            stored: the dict of the model's task. Its settings of windows do not count
                if texts are to be read otherwise.
            *values: the fields' values in order; None if they are not given.
        """
        named = zip(_FIELDS, values, strict=True)
        given = {field.name: value for field, value in named if value is not None}
        # The `doc_stride` of other tasks is not of long texts.
        if "long_texts" not in stored or given.get("long_texts", WINDOWS) != WINDOWS:
            stored = {}
        known = {**stored, **given}
        return {field.name: known.get(field.name, field.default) for field in _FIELDS}

    def check_long_texts(self):
        """Refuses unknown values, and those that would have no effect.

        Raises:
            UserError: the message names the field.
        """
        choices = {"long_texts": LONG_TEXTS, "window_pooling": WINDOW_POOLINGS}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise UserError(
                    f"{name}={getattr(self, name)!r}: expected one of "
                    f"{', '.join(known)}."
                )
        stride = self.doc_stride
        if stride is not None and not (type(stride) is int and stride > 0):
            raise UserError(f"doc_stride={stride!r}: expected an integer above 0.")
        for field in _FIELDS[1:]:
            value = getattr(self, field.name)
            if not self.in_windows and value != field.default:
                raise UserError(
                    f"{field.name}={value} is for long_texts=windows; leave it out."
                )


_FIELDS = dataclasses.fields(LongTexts)
