"""Layout of a text, or a pair of texts, in a row of tokens."""

import dataclasses

FEATURES = ("input_ids", "input_mask", "segment_ids")
"""Features of the tokens of rows, int32 `[batch, tokens]` each."""


@dataclasses.dataclass(frozen=True)
class RowLayout:
    """Places of a row's special tokens and padding, and their segments.

    The first text and its `[SEP]` have the segment 0. A configuration names the layout
    that its models were trained with (`row_layout`); a tokenizer makes rows of it, in
    Python and inside a graph.
    """

    name: str  # in `tokenizer_config.json` and `signature.json`
    # Whether a row is `A [SEP] B [SEP] [CLS]`, and not `[CLS] A [SEP] B [SEP]`.
    cls_last: bool = False
    pads_left: bool = False  # padding stands before the tokens, and not after them
    cls_segment: int = 0  # of `[CLS]`
    pad_segment: int = 0  # of padding
    between: int = 1  # tokens `[SEP]` between two texts
    second_segment: int = 1  # of the second text, and of the `[SEP]` after it

    @property
    def before(self):
        """Tokens before the first text."""
        return 0 if self.cls_last else 1

    @property
    def padded_after(self):
        """The layout of rows whose heads read every token, where places count.

        Only a summary at the last token needs padding before the tokens. The official
        XLNet pads its windows of SQuAD like this.
        """
        return dataclasses.replace(self, pads_left=False)

    @property
    def nowhere(self):
        """The number that stands for no place: 0, unless a text may begin there."""
        return -1 if self.cls_last else 0

    def special(self, has_pairs):
        """Counts the special tokens in a row of one text, or of two."""
        return 2 + self.between * has_pairs


CLS_FIRST = RowLayout("cls_first")
"""ALBERT's."""

CLS_LAST = RowLayout(
    "cls_last", cls_last=True, pads_left=True, cls_segment=2, pad_segment=3
)
"""XLNet's (official `convert_single_example`). Padding has the segment 3, as Hugging
Face's; the official code's is 4, and no token sees it."""

TWO_SEPARATORS = RowLayout("two_separators", between=2, second_segment=0)
"""RoBERTa's: `<s> A </s></s> B </s>`, all of it of one segment."""

ONE_SEGMENT = RowLayout("one_segment", second_segment=0)
"""The layout of an ALBERT or BERT whose table of segments has one row."""

_ALL = (CLS_FIRST, CLS_LAST, TWO_SEPARATORS, ONE_SEGMENT)
LAYOUTS = {layout.name: layout for layout in _ALL}
"""By name."""
