"""Tiny transformers models on disk, with random weights: what the model tests load, break and compare.

Importing it loads neither torch nor transformers.
"""

from pathlib import Path
from typing import Any

END = "<end>"


def byte_tokenizer(extra: tuple[str, ...] = ("Ġthe", "Ġc", "Ġcat"), end: str = END) -> Any:
    """A byte-level tokenizer: 256 bytes, a few merged tokens and an end-of-text token."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: i for i, letter in enumerate(letters)}
    merges = []
    for token in extra:
        for i in range(2, len(token) + 1):
            if token[:i] not in vocabulary:
                vocabulary[token[:i]] = len(vocabulary)
            if (token[: i - 1], token[i - 1]) not in merges:
                merges.append((token[: i - 1], token[i - 1]))
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(end, special=True)])
    return backend


def save_tokenizer(backend: Any, folder: Path, end: str = END) -> None:
    from transformers import PreTrainedTokenizerFast

    PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=end).save_pretrained(str(folder))


def save_model(folder: Path, seed: int = 0, kind: str = "llama", pad_to: int = 320, shards: bool = False) -> Any:
    """A model of two layers, ``pad_to`` wide in the vocabulary, with tokenizer; returns the transformers module."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    if kind == "gpt2":
        config: Any = GPT2Config(vocab_size=pad_to, n_positions=64, n_embd=32, n_layer=2, n_head=2)
        module: Any = GPT2LMHeadModel(config)
    else:
        config = LlamaConfig(
            vocab_size=pad_to,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            initializer_range=0.3,
        )
        module = LlamaForCausalLM(config)
    module = module.eval()
    module.save_pretrained(str(folder), max_shard_size="20KB" if shards else "1GB")
    save_tokenizer(byte_tokenizer(), folder)
    return module


def add_generation_config(folder: Path, **values: Any) -> None:
    """A generation_config.json with hidden defaults that nothing must heed, and ``values``."""
    import json

    config = {"do_sample": True, "top_k": 50, "temperature": 0.1, "repetition_penalty": 3.0} | values
    (folder / "generation_config.json").write_text(json.dumps(config), encoding="utf-8")
