"""Vocabularies that are made for a test."""

import io

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def wordpiece(pieces):
    """Returns the text of a WordPiece vocabulary: the special pieces, and these."""
    return "\n".join([*_SPECIAL, *pieces]) + "\n"


def xlnet_pieces(words):
    """Makes a SentencePiece model, bytes, of XLNet's special pieces and some words."""
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


def tie_pieces(special="[CLS] [SEP] [MASK] <pad>"):
    """Makes a unigram model, bytes, under which most texts have several best cuts.

    Its pieces are one to three times a letter or digit, and all pairs. Each character
    costs the same in all of them, so that equally many pieces are equally good.
    """
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    model.trainer_spec.model_type = model.trainer_spec.UNIGRAM
    model.pieces.add(piece="<unk>", type=model.SentencePiece.UNKNOWN)
    for piece in special.split():
        model.pieces.add(piece=piece, type=model.SentencePiece.CONTROL)
    letters = "0123456789abcdefgrst"
    pieces = [*letters, *(a + b for a in letters for b in letters)]
    for piece in ["\u2581", *pieces, *(letter * 3 for letter in letters)]:
        cost = sum(1.37 + 0.0713 * letters.find(letter) for letter in piece)
        model.pieces.add(piece=piece, score=-3.67 - cost)
    return model.SerializeToString()
