"""The 24 architectures of the catalogue: reduced configurations and input shapes.

Every model is built from its `transformers` configuration class, so nothing
is downloaded. Sizes follow one recipe (two layers, hidden size 64, four heads,
two key-value heads, vocabulary 256, intermediate size 128): small enough for a
golden result in a second, large enough that every operator of the full model
is there. Attention is `eager`, because it decomposes into plain operators for
all of them; the caches are off, so outputs are tensors only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

VOCABULARY = 256
BATCH, SEQUENCE = 2, 32

TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
DECODER = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 128,
    **TOKENS,
}
ENCODER = {key: value for key, value in DECODER.items() if key != "num_key_value_heads"}
VISION = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "image_size": 32,
    "patch_size": 8,
}
STAGES = {"hidden_sizes": [16, 32, 64, 128], "depths": [1, 1, 1, 1]}


@dataclass(frozen=True)
class Input:
    """One input: `high` set means integers in [0, high), otherwise uniform floats around 0."""

    shape: tuple[int, ...]
    high: int | None = None
    scale: float = 1.5


IDS = Input((BATCH, SEQUENCE), high=VOCABULARY)
DECODER_IDS = Input((BATCH, SEQUENCE // 2), high=VOCABULARY)
PIXELS = Input((BATCH, 3, 32, 32))


@dataclass(frozen=True)
class Architecture:
    id: str
    kind: str
    """`lm`, `encoder`, `seq2seq`, `vision` or `audio`."""
    model: str
    """Class in `transformers`; its `config_class` builds the configuration."""
    config: dict[str, Any]
    inputs: dict[str, Input]
    outputs: tuple[str, ...]
    """Fields of the model's result that the exported graph returns, in this order."""
    attention: str = "eager"
    experts: str | None = None
    """`batched_mm` exports mixtures of experts to plain ATen; the default brings a custom operator."""


def _lm(id: str, model: str, config: dict[str, Any], **other: Any) -> Architecture:
    return Architecture(id, "lm", model, config, {"input_ids": IDS}, ("logits",), **other)


def _encoder(id: str, model: str, config: dict[str, Any]) -> Architecture:
    return Architecture(id, "encoder", model, config, {"input_ids": IDS}, ("logits",))


def _vision(id: str, model: str, config: dict[str, Any]) -> Architecture:
    outputs = ("last_hidden_state", "pooler_output")
    return Architecture(id, "vision", model, config, {"pixel_values": PIXELS}, outputs)


ARCHITECTURES: tuple[Architecture, ...] = (
    _lm(
        "gpt2",
        "GPT2LMHeadModel",
        {
            "n_embd": 64,
            "n_layer": 2,
            "n_head": 4,
            "n_inner": 128,
            "vocab_size": VOCABULARY,
            "n_positions": 128,
            **TOKENS,
        },
    ),
    _lm("llama", "LlamaForCausalLM", DECODER),
    _lm("mistral", "MistralForCausalLM", {**DECODER, "sliding_window": 16}),
    _lm("qwen2", "Qwen2ForCausalLM", DECODER),
    _lm("qwen3", "Qwen3ForCausalLM", {**DECODER, "head_dim": 16}),
    _lm("gemma2", "Gemma2ForCausalLM", {**DECODER, "head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 16}),
    _lm(
        "gemma3_text",
        "Gemma3ForCausalLM",
        {
            **DECODER,
            "head_dim": 16,
            "query_pre_attn_scalar": 16,
            "sliding_window": 16,
            # By default every layer but the sixth slides: name one of each kind.
            "layer_types": ["sliding_attention", "full_attention"],
        },
    ),
    _lm("phi3", "Phi3ForCausalLM", {**DECODER, "sliding_window": 16}),
    _lm(
        "falcon",
        "FalconForCausalLM",
        {
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "ffn_hidden_size": 128,
            "vocab_size": VOCABULARY,
            **TOKENS,
        },
    ),
    _lm(
        "bloom",
        "BloomForCausalLM",
        {"hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY, **TOKENS},
    ),
    _lm(
        "opt",
        "OPTForCausalLM",
        {
            "hidden_size": 64,
            "word_embed_proj_dim": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "ffn_dim": 128,
            "vocab_size": VOCABULARY,
            "max_position_embeddings": 128,
            **TOKENS,
        },
    ),
    _lm("gpt_neox", "GPTNeoXForCausalLM", ENCODER),
    _lm(
        "mamba",
        "MambaForCausalLM",
        {
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "state_size": 16,
            "time_step_rank": 8,
            "expand": 2,
            "vocab_size": VOCABULARY,
            **TOKENS,
        },
    ),
    _lm(
        "mixtral",
        "MixtralForCausalLM",
        {**DECODER, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 16},
        experts="batched_mm",
    ),
    _encoder("bert", "BertForMaskedLM", ENCODER),
    _encoder("roberta", "RobertaForMaskedLM", ENCODER),
    _encoder(
        "distilbert",
        "DistilBertForMaskedLM",
        {
            "dim": 64,
            "hidden_dim": 128,
            "n_layers": 2,
            "n_heads": 4,
            "vocab_size": VOCABULARY,
            "max_position_embeddings": 128,
            "pad_token_id": 0,
        },
    ),
    Architecture(
        "t5",
        "seq2seq",
        "T5ForConditionalGeneration",
        {
            "d_model": 64,
            "d_kv": 16,
            "d_ff": 128,
            "num_layers": 2,
            "num_decoder_layers": 2,
            "num_heads": 4,
            "vocab_size": VOCABULARY,
            "pad_token_id": 0,
            "eos_token_id": 1,
            "decoder_start_token_id": 0,
        },
        {"input_ids": IDS, "decoder_input_ids": DECODER_IDS},
        ("logits", "encoder_last_hidden_state"),
    ),
    Architecture(
        "whisper",
        "seq2seq",
        "WhisperForConditionalGeneration",
        {
            "d_model": 64,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 128,
            "decoder_ffn_dim": 128,
            "num_mel_bins": 16,
            "max_source_positions": 64,
            "max_target_positions": 64,
            "vocab_size": VOCABULARY,
            "decoder_start_token_id": 1,
            "begin_suppress_tokens": None,
            **TOKENS,
        },
        # Two mel frames make one position of the encoder, and it insists on all positions.
        {"input_features": Input((BATCH, 16, 128)), "decoder_input_ids": DECODER_IDS},
        ("logits", "encoder_last_hidden_state"),
    ),
    Architecture(
        "wav2vec2",
        "audio",
        "Wav2Vec2Model",
        {
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 128,
            "conv_dim": [32] * 7,
            "num_conv_pos_embeddings": 16,
            "num_conv_pos_embedding_groups": 4,
            "vocab_size": 32,
        },
        # The convolutions see 400 samples and step by 320: 4000 samples make 12 frames.
        {"input_values": Input((BATCH, 4000))},
        ("last_hidden_state", "extract_features"),
    ),
    _vision("vit", "ViTModel", VISION),
    _vision("dinov2", "Dinov2Model", {**VISION, "mlp_ratio": 2}),
    _vision("convnext", "ConvNextModel", STAGES),
    _vision("resnet", "ResNetModel", {**STAGES, "embedding_size": 16, "layer_type": "basic"}),
)

BY_ID = {architecture.id: architecture for architecture in ARCHITECTURES}
