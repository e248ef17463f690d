"""Layout of a text, or a pair of texts, in a row of tokens."""

import dataclasses

FEATURES = ("input_ids", "input_mask", "segment_ids")
"""Features of a batch's tokens, each int32 `[batch, tokens]`."""


@dataclasses.dataclass(frozen=True)
class RowLayout:
    """The places and segments of a row's special tokens and padding.

    The first text and its `[SEP]` have the segment 0. A configuration gives the layout
    that its models were trained with (`row_layout`); a tokenizer makes rows with it, in
    Python and in a graph.
    """

    name: str  # in `tokenizer_config.json` and `signature.json`
    # Whether a row is `A [SEP] B [SEP] [CLS]`, not `[CLS] A [SEP] B [SEP]`.
    cls_last: bool = False
    pads_left: bool = False  # padding precedes the tokens instead of following them
    cls_segment: int = 0  # segment of `[CLS]`
    pad_segment: int = 0  # segment of padding
    between: int = 1  # number of `[SEP]` between two texts
    second_segment: int = 1  # segment of the second text and the `[SEP]` after it

    @property
    def before(self):
        """Number of tokens before the first text."""
        return 0 if self.cls_last else 1

    @property
    def padded_after(self):
        """This layout with padding after the tokens, for heads that read every token.

        Only a summary at the last token needs padding before the tokens. The official
        XLNet pads its SQuAD windows like this.
        """
        return dataclasses.replace(self, pads_left=False)

    @property
    def nowhere(self):
        """The number that means "no place": 0, unless a text may begin there."""
        return -1 if self.cls_last else 0

    def special(self, has_pairs):
        """Counts the special tokens in a row of one or two texts."""
        return 2 + self.between * has_pairs


CLS_FIRST = RowLayout("cls_first")
"""ALBERT's."""

CLS_LAST = RowLayout(
    "cls_last", cls_last=True, pads_left=True, cls_segment=2, pad_segment=3
)
"""XLNet's (official `convert_single_example`). Padding has the segment 3, as in Hugging
Face's; in the official code it is 4, and no token sees it."""

TWO_SEPARATORS = RowLayout("two_separators", between=2, second_segment=0)
"""RoBERTa's: `<s> A </s></s> B </s>`, all in one segment."""

ONE_SEGMENT = RowLayout("one_segment", second_segment=0)
"""The layout of an ALBERT or BERT whose segment table has one row."""

_ALL = (CLS_FIRST, CLS_LAST, TWO_SEPARATORS, ONE_SEGMENT)
LAYOUTS = {layout.name: layout for layout in _ALL}
"""The layouts by name."""
