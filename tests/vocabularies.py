"""Vocabularies that are made for a test."""

import io

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def wordpiece(pieces):
    """Returns the text of a WordPiece vocabulary: the special pieces, and these."""
    return "\n".join([*_SPECIAL, *pieces]) + "\n"


def _sentencepiece(lines, **options):
    """Trains a SentencePiece model on lines; returns its bytes."""
    import sentencepiece

    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(lines),
        model_writer=writer,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return writer.getvalue()


def xlnet_pieces(words):
    """Makes a SentencePiece model, bytes, of XLNet's special pieces and some words."""
    return _sentencepiece(
        [words],
        vocab_size=9 + len(words.split()),
        model_type="word",
        **{"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1},
        control_symbols=["<cls>", "<sep>", "<pad>", "<mask>", "<eod>"],
        user_defined_symbols=["<eop>"],
    )


def tie_pieces(special="[CLS] [SEP] [MASK] <pad>"):
    """Makes a unigram model, bytes, under which most texts have several best cuts.

    Its pieces are one to three times a letter or digit, and all pairs. Each character
    costs the same in all of them, so that equally many pieces are equally good.
    """
    from albert_tf.tokenization import sentencepiece_file

    model = sentencepiece_file.ModelProto()
    model.trainer_spec.model_type = sentencepiece_file.UNIGRAM
    model.pieces.add(piece="<unk>", type=sentencepiece_file.UNKNOWN)
    for piece in special.split():
        model.pieces.add(piece=piece, type=sentencepiece_file.CONTROL)
    letters = "0123456789abcdefgrst"
    pieces = [*letters, *(a + b for a in letters for b in letters)]
    for piece in ["\u2581", *pieces, *(letter * 3 for letter in letters)]:
        cost = sum(1.37 + 0.0713 * letters.find(letter) for letter in piece)
        model.pieces.add(piece=piece, score=-3.67 - cost)
    return model.SerializeToString()


_BYTE_BPE_TEXT = (
    "the cat sat on the mat, and the dog didn't bark at the cat in 2000; we'll see.",
    "caf\u00e9 \u65e5\u672c\u8a9e \U0001f600 the other theatre gathers there",
    "  it's 3.14   or\n\n so, they've said: HE'S the one",
)


def byte_bpe(folder, texts=_BYTE_BPE_TEXT, vocab_size=400):
    """Writes `vocab.json` and `merges.txt` of a byte-level BPE into a folder.

    The special pieces have the ids of RoBERTa's, `<mask>` the last one.
    """
    import json

    import tokenizers

    trained = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trained.train_from_iterator(
        texts, vocab_size - 1, 1, special_tokens=special, show_progress=False
    )
    trained.save_model(str(folder))
    path = folder / "vocab.json"
    pieces = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**pieces, "<mask>": len(pieces)}), "utf-8")


def modern_bpe(folder, texts=_BYTE_BPE_TEXT, vocab_size=400):
    """Writes a `tokenizer.json` like ModernBERT's into a folder.

    Texts are composed, runs of spaces are tokens, and the special pieces follow the
    vocabulary. Returns it in the package tokenizers.
    """
    import json

    import tokenizers
    from tokenizers import AddedToken

    trained = tokenizers.Tokenizer(tokenizers.models.BPE())
    trained.normalizer = tokenizers.normalizers.NFC()
    level = tokenizers.pre_tokenizers.ByteLevel
    trained.pre_tokenizer = level(add_prefix_space=False)
    trained.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=1,
        special_tokens=["|||IP_ADDRESS|||", "<|padding|>"],
        initial_alphabet=level.alphabet(),
        show_progress=False,
    )
    trained.train_from_iterator(texts, trainer)
    trained.add_tokens([" " * n for n in (4, 3, 2)] + ["[unused0]"])
    special = [AddedToken(f"[{name}]") for name in ("UNK", "CLS", "SEP", "PAD")]
    mask = AddedToken("[MASK]", lstrip=True)
    trained.add_special_tokens([*special, mask])
    trained.post_processor = tokenizers.processors.TemplateProcessing(
        "[CLS] $A [SEP]",
        "[CLS] $A [SEP] $B:1 [SEP]:1",
        [(piece, trained.token_to_id(piece)) for piece in ("[CLS]", "[SEP]")],
    )
    trained.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "mask_token": "[MASK]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return trained


def _lines(texts):
    return [line for text in texts for line in text.splitlines()] * 3


def xlm_pieces(folder, texts=(*_BYTE_BPE_TEXT, "ἄνθρωπος हिन्दी über straße")):
    """Writes a small `sentencepiece.bpe.model` like XLM-R's into a folder."""
    rule = {"normalization_rule_name": "nmt_nfkc"}
    model = _sentencepiece(_lines(texts), vocab_size=120, **rule)
    (folder / "sentencepiece.bpe.model").write_bytes(model)


def deberta_pieces(folder, texts=_BYTE_BPE_TEXT):
    """Writes a small `spm.model` like DeBERTa-v3's into a folder."""
    special = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}
    roles = {f"{role}_piece": piece for role, piece in special.items()}
    roles |= {f"{role}_id": index for index, role in enumerate(special)}
    rule = {"normalization_rule_name": "nmt_nfkc"}
    model = _sentencepiece(_lines(texts), vocab_size=100, **rule, **roles)
    (folder / "spm.model").write_bytes(model)
