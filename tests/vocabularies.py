"""Vocabularies that are made for a test."""

import io

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def wordpiece(pieces):
    """The text of a WordPiece vocabulary: the special pieces, and these."""
    return "\n".join([*_SPECIAL, *pieces]) + "\n"


def xlnet_pieces(words):
    """A SentencePiece model, bytes, of XLNet's special pieces and some words."""
    import sentencepiece

    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter([words]),
        model_writer=writer,
        vocab_size=9 + len(words.split()),
        model_type="word",
        unk_id=0,
        bos_id=1,
        eos_id=2,
        pad_id=-1,
        control_symbols=["<cls>", "<sep>", "<pad>", "<mask>", "<eod>"],
        user_defined_symbols=["<eop>"],
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return writer.getvalue()
