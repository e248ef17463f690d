"""ALBERT with the blocks of albert_tf that transformers' ALBERT lacks, in PyTorch.

Rotary positions, norm before each function, gated feed-forward layers, blocks without
biases, local attention, depth adapters, and any sharing of layers. albert_tf writes
this file beside the weights; AutoModel.from_pretrained(folder, trust_remote_code=True)
and the other Auto classes run it. SPDX-License-Identifier: Apache-2.0

Shape letters: B batch, C choices, T tokens, N heads, D head size, H hidden,
E embedding, V vocabulary.
"""

import functools

import torch
from torch import nn
from torch.nn import functional
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.modeling_outputs import MaskedLMOutput
from transformers.modeling_outputs import MultipleChoiceModelOutput
from transformers.modeling_outputs import QuestionAnsweringModelOutput
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.modeling_outputs import TokenClassifierOutput
from transformers.models.albert.modeling_albert import AlbertForPreTrainingOutput

from .configuration_albert_tf import AlbertTfConfig

_MASKED_SCORE = -10000.0
_NO_CHOICE = -1e9  # the logit of a choice that is all padding
_LONGEST_PERIOD = 10000.0  # of rotary positions
_ACTIVATIONS = {
    "gelu": functools.partial(functional.gelu, approximate="tanh"),
    "gelu_erf": functional.gelu,
    "linear": nn.Identity(),
    "relu": functional.relu,
    "silu": functional.silu,
    "tanh": torch.tanh,
}


def _norm(config, width, bias=True):
    return nn.LayerNorm(width, eps=config.layer_norm_eps, bias=bias)


def _project(layer, inputs, adapter):
    """Applies a projection and, unless it is None, a pair of matrices to add."""
    outputs = layer(inputs)
    if adapter is None:
        return outputs
    down, up = adapter
    return outputs + inputs @ down @ up


def _rotation(tokens, head_size, device):
    """Computes cosines and sines of rotary positions, each float32 [T, D / 2]."""
    half = head_size // 2
    exponents = torch.arange(half, dtype=torch.float32, device=device) / half
    places = torch.arange(tokens, dtype=torch.float32, device=device)
    angles = places[:, None] * _LONGEST_PERIOD**-exponents
    return angles.cos(), angles.sin()


def _rotated(heads, turns):
    """Rotates element i of queries or keys, [B, N, T, D], with element i + D / 2."""
    cosines, sines = turns
    first, second = heads.float().chunk(2, dim=-1)
    turned = [first * cosines - second * sines, second * cosines + first * sines]
    return torch.cat(turned, dim=-1).to(heads.dtype)


class AlbertTfEmbeddings(nn.Module):
    """Word, segment and learned position embeddings: ids [B, T] to [B, T, E]."""

    def __init__(self, config):
        super().__init__()
        self.padding_idx, width = config.padding_idx, config.embedding_size
        table = functools.partial(nn.Embedding, embedding_dim=width)
        padded = functools.partial(table, padding_idx=self.padding_idx)
        self.word_embeddings = padded(config.vocab_size)
        self.token_type_embeddings = table(config.type_vocab_size)
        self.position_embeddings = None
        if config.position_embedding_type == "learned":
            first = 0 if self.padding_idx is None else self.padding_idx + 1
            self.position_embeddings = padded(first + config.max_position_embeddings)
        self.LayerNorm = _norm(config, width)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids, token_type_ids):
        if self.token_type_embeddings.num_embeddings == 1:
            token_type_ids = torch.zeros_like(input_ids)
        segments = self.token_type_embeddings(token_type_ids)
        total = self.word_embeddings(input_ids) + segments
        if self.position_embeddings is not None:
            total = total + self.position_embeddings(self._positions(input_ids))
        return self.dropout(self.LayerNorm(total))

    def _positions(self, input_ids):
        if self.padding_idx is None:
            return torch.arange(input_ids.shape[1], device=input_ids.device)
        is_token = input_ids.ne(self.padding_idx).long()
        return is_token.cumsum(dim=1) * is_token + self.padding_idx


class AlbertTfAttention(nn.Module):
    """Self-attention with its norm and residual: hidden [B, T, H] to [B, T, H]."""

    def __init__(self, config):
        super().__init__()
        self.config, size = config, config.hidden_size
        for name in ("query", "key", "value", "dense"):
            setattr(self, name, nn.Linear(size, size, bias=config.use_bias))
        self.LayerNorm = _norm(config, size, config.use_bias)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, hidden, bias, turns, adapters, eager):
        """Returns the new hidden states and, if `eager`, probabilities [B, N, T, T]."""
        is_pre = self.config.norm == "pre"
        inputs = self.LayerNorm(hidden) if is_pre else hidden
        query, key, value = (
            self._heads(name, inputs, adapters) for name in ("query", "key", "value")
        )
        if turns is not None:
            query, key = _rotated(query, turns), _rotated(key, turns)
        rate, probabilities = self.config.attention_probs_dropout_prob, None
        if eager:
            scores = query * query.shape[-1] ** -0.5 @ key.transpose(-1, -2)
            probabilities = torch.softmax(scores.float() + bias, dim=-1)
            kept = functional.dropout(probabilities, rate, self.training)
            context = kept.to(value.dtype) @ value
        else:
            context = functional.scaled_dot_product_attention(
                query,
                key,
                value,
                attn_mask=bias.to(query.dtype),
                dropout_p=rate if self.training else 0.0,
            )
        context = context.transpose(1, 2).flatten(2)
        output = _project(self.dense, context, adapters.get("dense"))
        hidden = hidden + self.dropout(output)
        return hidden if is_pre else self.LayerNorm(hidden), probabilities

    def _heads(self, name, inputs, adapters):
        projected = _project(getattr(self, name), inputs, adapters.get(name))
        heads = self.config.num_attention_heads
        return projected.unflatten(-1, (heads, -1)).transpose(1, 2)  # [B, N, T, D]


class AlbertTfBlock(nn.Module):
    """The attention and the feed-forward layer of a group, or one of the two."""

    def __init__(self, config, has_attention, has_feed_forward):
        super().__init__()
        self.config = config
        if has_attention:
            self.attention = AlbertTfAttention(config)
        if has_feed_forward:
            size, inner = config.hidden_size, config.intermediate_size
            self.ffn = nn.Linear(size, inner, bias=config.use_bias)
            if config.gate_act:
                self.ffn_gate = nn.Linear(size, inner, bias=config.use_bias)
            self.ffn_output = nn.Linear(inner, size, bias=config.use_bias)
            self.full_layer_layer_norm = _norm(config, size, config.use_bias)
            self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def feed_forward(self, hidden, adapters):
        """Runs the feed-forward layer with its norm and residual, on [B, T, H]."""
        config, norm = self.config, self.full_layer_layer_norm
        inputs = norm(hidden) if config.norm == "pre" else hidden
        inner = _project(self.ffn, inputs, adapters.get("ffn"))
        if config.gate_act:
            gate = _project(self.ffn_gate, inputs, adapters.get("ffn_gate"))
            inner = _ACTIVATIONS[config.gate_act](gate) * inner
        else:
            inner = _ACTIVATIONS[config.hidden_act](inner)
        output = _project(self.ffn_output, inner, adapters.get("ffn_output"))
        hidden = hidden + self.dropout(output)
        return hidden if config.norm == "pre" else norm(hidden)


class AlbertTfAdapter(nn.Module):
    """Two thin matrices for each block, whose product is added to a projection."""

    def __init__(self, blocks, inputs, outputs, rank):
        super().__init__()
        self.down = nn.Parameter(torch.zeros(blocks, inputs, rank))
        self.up = nn.Parameter(torch.zeros(blocks, rank, outputs))


class AlbertTfEncoder(nn.Module):
    """The stack of blocks: embeddings [B, T, E] to hidden states [B, T, H]."""

    def __init__(self, config):
        super().__init__()
        self.config, size = config, config.hidden_size
        self.embedding_hidden_mapping_in = nn.Identity()
        if config.always_map_embeddings or config.embedding_size != size:
            self.embedding_hidden_mapping_in = nn.Linear(config.embedding_size, size)
        attending, feeding = map(set, zip(*config.layer_schedule(), strict=True))
        inner = range(config.inner_group_num)
        self.albert_layer_groups = nn.ModuleList()
        for group in range(max(attending | feeding) + 1):
            parts = config, group in attending, group in feeding
            blocks = nn.ModuleList(AlbertTfBlock(*parts) for _ in inner)
            self.albert_layer_groups.append(nn.ModuleDict({"albert_layers": blocks}))
        count, rank = config.num_hidden_layers * len(inner), config.depth_adapter_rank
        self.depth_adapters = nn.ModuleDict(
            {
                name: AlbertTfAdapter(count, *sides, rank)
                for name, sides in config.adapted_products().items()
            }
        )
        is_pre = config.norm == "pre"
        self.LayerNorm = _norm(config, size, config.use_bias) if is_pre else None

    def forward(self, embeddings, attention_mask, eager):
        """Returns the output, the states before each layer and after the last, and,
        if `eager`, each block's probabilities [B, N, T, T]."""
        biases, turns = self._biases(attention_mask), None
        if self.config.position_embedding_type == "rotary":
            size = self.config.hidden_size // self.config.num_attention_heads
            turns = _rotation(embeddings.shape[1], size, embeddings.device)
        hidden = self.embedding_hidden_mapping_in(embeddings)
        states, attentions, number = [hidden], [], 0
        for groups in self.config.layer_schedule():
            attending, feeding = (
                self.albert_layer_groups[group]["albert_layers"] for group in groups
            )
            for own, other in zip(attending, feeding, strict=True):
                adapters = {
                    name: (adapter.down[number], adapter.up[number])
                    for name, adapter in self.depth_adapters.items()
                }
                is_global = number % self.config.global_attention_every == 0
                hidden, shares = own.attention(
                    hidden, biases[not is_global], turns, adapters, eager
                )
                hidden = other.feed_forward(hidden, adapters)
                attentions.append(shares)
                number += 1
            states.append(hidden)
        if self.LayerNorm is not None:
            hidden = states[-1] = self.LayerNorm(hidden)
        return hidden, states, attentions if eager else None

    def _biases(self, attention_mask):
        """Makes what is added to the scores of global and of local blocks."""
        padding = 1.0 - attention_mask[:, None, None, :].float()  # [B, 1, 1, T]
        bias, window = _MASKED_SCORE * padding, self.config.local_attention_window
        if window is None:
            return bias, bias
        places = torch.arange(attention_mask.shape[1], device=bias.device)
        far = (places[:, None] - places).abs() > window // 2  # [T, T]
        return bias, bias + _MASKED_SCORE * far.float()


class AlbertTfMaskedLMHead(nn.Module):
    """Scores over the vocabulary: [B, T, H] and the word table to [B, T, V]."""

    def __init__(self, config):
        super().__init__()
        self.config, width = config, config.embedding_size
        self.dense = nn.Linear(config.hidden_size, width)
        self.LayerNorm = _norm(config, width)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        if not config.tie_word_embeddings:
            self.decoder = nn.Linear(width, config.vocab_size, bias=False)

    def forward(self, hidden, word_embeddings):
        if not self.config.tie_word_embeddings:
            word_embeddings = self.decoder.weight
        hidden = _ACTIVATIONS[self.config.head_act](self.dense(hidden))
        return functional.linear(self.LayerNorm(hidden), word_embeddings, self.bias)


class AlbertTfPreTrainedModel(PreTrainedModel):
    """The base of the models: configuration, names and initial weights."""

    config_class = AlbertTfConfig
    base_model_prefix = "albert"
    _supports_sdpa = True

    def _init_weights(self, module):
        spread = self.config.initializer_range
        draw = functools.partial(
            nn.init.trunc_normal_, std=spread, a=-2 * spread, b=2 * spread
        )
        if isinstance(module, nn.Linear | nn.Embedding):
            draw(module.weight)
        elif isinstance(module, AlbertTfAdapter):
            draw(module.down)
            nn.init.zeros_(module.up)
        elif isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)
        if getattr(module, "bias", None) is not None:
            nn.init.zeros_(module.bias)

    def _answer(self, output, return_dict):
        if return_dict is None:
            return_dict = self.config.return_dict
        return output if return_dict else output.to_tuple()


class AlbertTfModel(AlbertTfPreTrainedModel):
    """The encoder, with its pooler unless a head needs none.

    `hidden_states` are the first layer's input and each layer's output, the last one
    after the final norm.
    """

    def __init__(self, config, add_pooling_layer=True):
        super().__init__(config)
        self.embeddings = AlbertTfEmbeddings(config)
        self.encoder = AlbertTfEncoder(config)
        self.pooler = None
        if add_pooling_layer:
            self.pooler = nn.Linear(config.hidden_size, config.hidden_size)
        self.post_init()

    def get_input_embeddings(self):
        return self.embeddings.word_embeddings

    def set_input_embeddings(self, value):
        self.embeddings.word_embeddings = value

    def forward(
        self,
        input_ids,
        attention_mask=None,
        token_type_ids=None,
        output_attentions=None,
        output_hidden_states=None,
        return_dict=None,
    ):
        config = self.config
        if input_ids.shape[1] > config.max_position_embeddings:
            raise ValueError(
                f"The input has {input_ids.shape[1]} tokens, but the model has only "
                f"{config.max_position_embeddings} positions; shorten the input."
            )
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        if output_attentions is None:
            output_attentions = config.output_attentions
        if output_hidden_states is None:
            output_hidden_states = config.output_hidden_states
        eager = output_attentions or config._attn_implementation == "eager"
        hidden, states, attentions = self.encoder(
            self.embeddings(input_ids, token_type_ids), attention_mask, eager
        )
        pooled = None
        if self.pooler is not None:
            pooled = torch.tanh(self.pooler(hidden[:, 0]))
        output = BaseModelOutputWithPooling(
            last_hidden_state=hidden,
            pooler_output=pooled,
            hidden_states=tuple(states) if output_hidden_states else None,
            attentions=tuple(attentions) if output_attentions else None,
        )
        return self._answer(output, return_dict)


def _cross_entropy(logits, labels, **options):
    return functional.cross_entropy(logits.flatten(0, -2), labels.flatten(), **options)


class _WithHead(AlbertTfPreTrainedModel):
    """The encoder, `albert`, and the head that a subclass adds.

    A subclass says what it returns; it makes logits of the encoder's output, and a loss
    of logits and `labels`.
    """

    reads_pooler = True
    output_class = None

    def __init__(self, config):
        super().__init__(config)
        self.albert = AlbertTfModel(config, add_pooling_layer=self.reads_pooler)
        self._add_head(config)
        self.post_init()

    def _classify(self, outputs):
        self.dropout = nn.Dropout(self.config.classifier_dropout_prob)
        self.classifier = nn.Linear(self.config.hidden_size, outputs)

    def _score_words(self, encoded):
        table = self.albert.embeddings.word_embeddings.weight
        return self.predictions(encoded.last_hidden_state, table)

    def _encode(self, features, attentions, hidden_states):
        """Returns the encoder's output, and the parts of it that all models hand on."""
        lines = [None if part is None else part.flatten(0, -2) for part in features]
        encoded = self.albert(*lines, attentions, hidden_states, return_dict=True)
        names = ("hidden_states", "attentions")
        return encoded, {name: encoded[name] for name in names if name in encoded}

    def _loss(self, logits, labels):
        return _cross_entropy(logits, labels)

    def forward(
        self,
        input_ids,
        attention_mask=None,
        token_type_ids=None,
        labels=None,
        output_attentions=None,
        output_hidden_states=None,
        return_dict=None,
    ):
        features = input_ids, attention_mask, token_type_ids
        encoded, more = self._encode(features, output_attentions, output_hidden_states)
        logits = self._logits(encoded, input_ids, attention_mask)
        loss = None if labels is None else self._loss(logits, labels)
        return self._answer(self.output_class(loss, logits, **more), return_dict)


class AlbertTfForMaskedLM(_WithHead):
    """Scores of the vocabulary for each token; labels of -100 do not count."""

    reads_pooler = False
    output_class = MaskedLMOutput

    def _add_head(self, config):
        self.predictions = AlbertTfMaskedLMHead(config)

    def _logits(self, encoded, input_ids, attention_mask):
        return self._score_words(encoded)


class AlbertTfForSequenceClassification(_WithHead):
    """A linear classifier of texts; the loss follows `config.problem_type`."""

    output_class = SequenceClassifierOutput

    def _add_head(self, config):
        self._classify(config.num_labels)

    def _logits(self, encoded, input_ids, attention_mask):
        return self.classifier(self.dropout(encoded.pooler_output))

    def _loss(self, logits, labels):
        kind = self.config.problem_type
        if kind == "regression" or (kind is None and self.config.num_labels == 1):
            return functional.mse_loss(logits.flatten(), labels.flatten().to(logits))
        is_several = kind is None and labels.is_floating_point()
        if kind == "multi_label_classification" or is_several:
            targets = labels.to(logits)
            return functional.binary_cross_entropy_with_logits(logits, targets)
        return _cross_entropy(logits, labels)


class AlbertTfForTokenClassification(_WithHead):
    """A linear classifier of tokens; labels of -100 do not count."""

    reads_pooler = False
    output_class = TokenClassifierOutput

    def _add_head(self, config):
        self._classify(config.num_labels)

    def _logits(self, encoded, input_ids, attention_mask):
        return self.classifier(self.dropout(encoded.last_hidden_state))


class AlbertTfForMultipleChoice(_WithHead):
    """A score of each choice: ids [B, C, T] to [B, C]."""

    output_class = MultipleChoiceModelOutput

    def _add_head(self, config):
        self._classify(1)

    def _logits(self, encoded, input_ids, attention_mask):
        logits = self.classifier(self.dropout(encoded.pooler_output))
        logits = logits.view(input_ids.shape[:2])
        if attention_mask is None:
            return logits
        real = attention_mask.gt(0).any(dim=2)  # [B, C]
        kept = real | ~real.any(dim=1, keepdim=True)
        return logits.masked_fill(~kept, _NO_CHOICE)


class AlbertTfForQuestionAnswering(_WithHead):
    """Scores of each token as the first and as the last of the answer."""

    reads_pooler = False

    def _add_head(self, config):
        self.qa_outputs = nn.Linear(config.hidden_size, 2)

    def forward(
        self,
        input_ids,
        attention_mask=None,
        token_type_ids=None,
        start_positions=None,
        end_positions=None,
        output_attentions=None,
        output_hidden_states=None,
        return_dict=None,
    ):
        features = input_ids, attention_mask, token_type_ids
        encoded, more = self._encode(features, output_attentions, output_hidden_states)
        starts, ends = self.qa_outputs(encoded.last_hidden_state).unbind(dim=-1)
        loss = None
        if start_positions is not None and end_positions is not None:
            beyond = starts.shape[1]  # an answer that was cut off does not count
            halves = [
                _cross_entropy(scores, places.clamp(0, beyond), ignore_index=beyond)
                for scores, places in ((starts, start_positions), (ends, end_positions))
            ]
            loss = sum(halves) / 2
        output = QuestionAnsweringModelOutput(loss, starts, ends, **more)
        return self._answer(output, return_dict)


class AlbertTfForPreTraining(_WithHead):
    """A masked language model that also tells whether two texts are in order."""

    def _add_head(self, config):
        self.predictions = AlbertTfMaskedLMHead(config)
        classifier = nn.Linear(config.hidden_size, 2)
        self.sop_classifier = nn.ModuleDict({"classifier": classifier})

    def forward(
        self,
        input_ids,
        attention_mask=None,
        token_type_ids=None,
        labels=None,
        sentence_order_label=None,
        output_attentions=None,
        output_hidden_states=None,
        return_dict=None,
    ):
        features = input_ids, attention_mask, token_type_ids
        encoded, more = self._encode(features, output_attentions, output_hidden_states)
        logits = self._score_words(encoded)
        order = self.sop_classifier["classifier"](encoded.pooler_output)
        loss = None
        if labels is not None and sentence_order_label is not None:
            loss = _cross_entropy(logits, labels)
            loss = loss + _cross_entropy(order, sentence_order_label)
        output = AlbertForPreTrainingOutput(loss, logits, order, **more)
        return self._answer(output, return_dict)
