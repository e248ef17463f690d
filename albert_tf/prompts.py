"""Prompts: texts that a model of vectors puts before the texts it reads.

A model has prompts by name, of which one may be the default, as in
sentence-transformers: "query: " before a question, "passage: " before what may answer.
"""

from albert_tf.errors import UserError

_USUAL = {"prompts": {}, "default_prompt_name": None, "include_prompt": True}
FIELDS = tuple(_USUAL)
"""Attributes of a model or task with prompts: `prompts` (texts by name),
`default_prompt_name`, and `include_prompt`, whether the mean includes their tokens."""
OF_TYPES = {
    "query": ("query",),
    "document": ("document", "passage", "corpus"),
    "passage": ("passage", "document", "corpus"),
}
"""Names of prompts, best first, by what the texts are for (`prompt_type`)."""
READ_ONLY = 2
"""`input_mask` of tokens that the model reads, but leaves out of the mean."""


def settings_of(owner):
    """Returns the `FIELDS` of a model or task that differ from one without prompts."""
    own = {name: getattr(owner, name) for name in FIELDS}
    return {name: value for name, value in own.items() if value != _USUAL[name]}


def check_settings(prompts, default_prompt_name, include_prompt=True, source=""):
    """Checks the values of `FIELDS`; `source` begins the message.

    Raises:
        UserError: prompts are not texts by name, the default is not one of them, or
            `include_prompt` is not a bool.
    """
    is_dict = isinstance(prompts, dict)
    if not is_dict or not all(isinstance(p, str) for i in prompts.items() for p in i):
        raise UserError(f"{source}prompts={prompts!r}: expected texts by name.")
    if default_prompt_name is not None and default_prompt_name not in [*prompts]:
        raise UserError(
            f"{source}default_prompt_name={default_prompt_name!r}: expected one of the "
            f"prompts ({', '.join(prompts) or 'there are none'}), or None."
        )
    if type(include_prompt) is not bool:
        raise UserError(
            f"{source}include_prompt={include_prompt!r}: expected true or false."
        )


def chosen_prompt(owner, prompt_name=None, prompt=None, likely=()):
    """Returns the prompt of a call, "" for none.

    Args:
        owner: a model or task with `FIELDS`.
        prompt_name: the name of a prompt.
        prompt: the prompt itself, whatever the name.
        likely: names to prefer to the default if the model has them, best first.

    Raises:
        UserError: the model has no prompt of that name, or the prompt is no text.
    """
    if prompt is not None:
        if not isinstance(prompt, str):
            raise UserError(f"prompt must be a str, got {type(prompt).__name__}.")
        return prompt
    known = owner.prompts
    if prompt_name is not None and prompt_name not in [*known]:
        raise UserError(
            f"prompt_name={prompt_name!r}: the model has the prompts "
            f"{', '.join(known)}."
            if known
            else f"prompt_name={prompt_name!r}: the model has no prompts; give the "
            "text itself as prompt, or the model with prompts={…}."
        )
    names = [prompt_name] if prompt_name is not None else likely
    names = [name for name in (*names, owner.default_prompt_name) if name in known]
    return known[names[0]] if names else ""


def prompt_length(prompt, tokenizer, max_seq_length):
    """Counts a prompt's tokens as sentence-transformers does.

    These are the tokens of a row of the prompt alone, without white space around it,
    except the last special token.

    Args:
        prompt: the text; "" has no tokens.
        tokenizer: a `Tokenizer`.
        max_seq_length: maximum number of tokens in a row.
    """
    if not prompt:
        return 0
    row = tokenizer([prompt.strip()], max_length=max_seq_length, padding=False)
    return len(row["input_ids"][0]) - 1
