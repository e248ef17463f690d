"""Tokenizers beside checkpoints of other forms."""

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.tokenization.byte_bpe.files import MERGES
from albert_tf.tokenization.byte_bpe.files import VOCABULARY
from albert_tf.tokenization.huggingface.directory import ADDED_TOKENS
from albert_tf.tokenization.saved_config import read_saved_config
from albert_tf.tokenization.tokenizer import CONFIG_NAME
from albert_tf.tokenization.wordpiece import official_vocabulary

# Where the others look for a SentencePiece model.
_SENTENCEPIECE_NAMES = {"tf1": "30k-clean.model", "huggingface": "spiece.model"}
# By kind and by the models that need the pieces.
_THEIR_CLASSES = {
    ("sentencepiece", "ALBERT"): "AlbertTokenizer",
    ("sentencepiece", "XLNet"): "XLNetTokenizer",
    ("wordpiece", "ALBERT"): "BertTokenizer",
    ("byte_bpe", "RoBERTa"): "RobertaTokenizer",
}
_NAMES = (*_SENTENCEPIECE_NAMES.values(), "vocab.txt", VOCABULARY, MERGES)


def save_for_others(tokenizer, directory, form):
    """Writes a tokenizer where the programs of another form look for it.

    Args:
        tokenizer: a tokenizer of this package.
        directory: it exists.
        form: "tf1" or "huggingface".
    """
    files = {tokenizer.file_name: tokenizer.file_bytes}
    # The casing has Hugging Face's name.
    settings = tokenizer.settings()
    if tokenizer.kind == "sentencepiece":
        files = {_SENTENCEPIECE_NAMES[form]: tokenizer.file_bytes}
    if form == "huggingface":
        added = settings.pop("added_tokens", [])
        settings = {**_their_settings(tokenizer), **settings}
        if added:
            settings[ADDED_TOKENS] = {str(t.pop("id")): _theirs(t) for t in added}
        if tokenizer.kind == "wordpiece" and not tokenizer.rules.counts_lines:
            # They count the lines, whatever these hold.
            files = {tokenizer.file_name: official_vocabulary(tokenizer.file_bytes)}
        if tokenizer.kind == "byte_bpe":
            pairs = tokenizer.byte_pairs
            files = {VOCABULARY: pairs.vocabulary_bytes(), MERGES: pairs.merges_bytes()}
    with ChecksummedFolder(directory) as folder:
        for name, content in files.items():
            folder.write(name, content)
        folder.write_json(CONFIG_NAME, settings)


def _theirs(token):
    # Their slow tokenizers find others in lower case only.
    special = not token["normalized"]
    return {
        **token,
        "special": special,
        "rstrip": False,
        "single_word": False,
    }


def _their_settings(tokenizer):
    """Returns settings that their tokenizers do not know without being told."""
    settings = {
        # Without it, they take a directory of an ALBERT for one of SentencePiece.
        "tokenizer_class": _THEIR_CLASSES[tokenizer.kind, tokenizer.model_type],
        # Without it, transformers 5 gives ALBERT no segments.
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
    }
    if tokenizer.kind == "sentencepiece":
        settings |= {
            "keep_accents": tokenizer.keep_accents,
            # Of ours alone: theirs always joins them.
            "joins_quotes": tokenizer.joins_quotes,
        }
    return settings


def saved_files(directory):
    """Lists the files that a tokenizer was saved in there, in whatever form.

    They are those that `SHA256SUMS` names: a set, empty without a tokenizer.
    """
    listed = checksums.read(directory)
    if CONFIG_NAME not in listed:
        return set()
    try:
        config = read_saved_config(directory)
    except UserError:  # it is about to be replaced
        config = {}
    named = [config["file"]] if "file" in config else _NAMES
    return {CONFIG_NAME, *(name for name in named if name in listed)}
