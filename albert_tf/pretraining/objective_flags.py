"""The flags of what is predicted, of sentences, and of replaced tokens."""

import dataclasses

from albert_tf.cli.command_line import option
from albert_tf.engine.resumption import RESTART_DATA


@dataclasses.dataclass(frozen=True, kw_only=True)
class ObjectiveFlags:
    """Flags of run_pretraining.py that belong to one `--objective` each."""

    masked_lm_prob: float | None = option(
        "Share of the tokens to predict, for data made with --masking=dynamic; by "
        "default the share that the data was made for.",
        None,
        minimum=0,
        may_change=RESTART_DATA,
    )
    max_gram: int = option(
        "Longest span that XLNet predicts, in tokens; 1 predicts single tokens.",
        5,
        minimum=1,
        may_change=RESTART_DATA,
    )
    sentence_objective: str = option(
        "What the model learns about two segments. data: what the data was made for "
        "(sentence order, next sentence or nothing); none: nothing, only the masked "
        "LM is trained.",
        "data",
        ("data", "none"),
        may_change=True,
    )
    eval_any_objective: bool = option(
        "Evaluate on --eval_file even if it was made for another sentence objective "
        "than the training data, as in the paper's table 5.",
        False,
        may_change=True,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class GeneratorFlags:
    """The generator of replaced-token detection; names and defaults of ELECTRA's."""

    generator_hidden_size: float = option(
        "Width of the generator as a share of the model's, in whole heads; its "
        "feed-forward layer shrinks alike. Of --objective=replaced_tokens.",
        0.25,
        minimum=0.01,
        maximum=1.0,
    )
    generator_layers: float = option(
        "Layers of the generator as a share of the model's.",
        1.0,
        minimum=0.01,
        maximum=1.0,
    )
    gen_weight: float = option("What the generator's loss counts.", 1.0, minimum=0)
    disc_weight: float = option(
        "What the discriminator's loss counts.", 50.0, minimum=0
    )
    temperature: float = option(
        "What the generator's logits are divided by before a token is drawn.",
        1.0,
        minimum=0.01,
    )
    keep_generator: bool = option(
        "Write the generator into the model directory, too; --do_eval of a finished "
        "run needs it.",
        False,
        may_change=True,
    )

    def config_changes(self, config):
        """Returns the fields in which the generator's config differs.

        Args:
            config: an `AlbertConfig`, the discriminator's.
        """
        share = self.generator_hidden_size
        heads = max(1, round(config.num_attention_heads * share))
        layers = max(1, round(config.num_hidden_layers * self.generator_layers))
        return {
            "num_attention_heads": heads,
            "hidden_size": heads * config.head_size,
            "intermediate_size": max(1, round(config.intermediate_size * share)),
            "num_hidden_layers": layers,
            "num_hidden_groups": min(config.num_hidden_groups, layers),
        }
