"""Text sampled from the target: ``python -m training.sample --out text.npz --sequences 8192``.

Starts are made from a few patterns and word lists; what follows is the target's own, 60 % of the sequences at
temperature 0.7 and the rest at 1, the whole vocabulary, 160 tokens each. Written in parts, so that it can be
interrupted and started again. Does not know: the draft, losses.
"""

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from specdec_core.models import embedded
from training.data import ASSISTANT, ROW, START_OF_TURN
from training.generate import sample

WORDS = Path(__file__).with_name("starts.json")
BATCH = 128
# Share of the sequences at each temperature.
TEMPERATURES = {0.7: 0.6, 1.0: 0.4}
# How often each kind of start is drawn.
KINDS = {"plain": 0.5, "chat": 0.38, "word": 0.12}

Draw = Callable[[list[str]], str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sequences", type=int, default=8192)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    tokenizer, target = embedded.load_tokenizer(), embedded.load_target(torch.float32)
    _check_template(tokenizer)
    parts = [_part(args, k, tokenizer, target) for k in range(-(-args.sequences // BATCH))]
    np.savez_compressed(args.out, tokens=np.concatenate(parts)[: args.sequences])
    for k in range(len(parts)):
        _part_path(args.out, k).unlink()


def _part(args: argparse.Namespace, k: int, tokenizer: Any, target: Any) -> np.ndarray:
    """Batch ``k``, uint16 (BATCH, ROW); it depends on the seed and ``k`` alone."""
    path = _part_path(args.out, k)
    if path.exists():
        return np.load(path)
    rng = np.random.default_rng([args.seed, k])
    temperature = float(rng.choice(list(TEMPERATURES), p=list(TEMPERATURES.values())))
    prompts = [tokenizer(start(rng, tokenizer), add_special_tokens=False).input_ids for _ in range(BATCH)]
    generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
    tokens = sample(target, prompts, ROW, temperature, generator).numpy().astype(np.uint16)
    partial = path.with_suffix(".partial.npy")
    np.save(partial, tokens)
    partial.replace(path)
    print(f"batch {k}: T {temperature}", flush=True)
    return tokens


def _part_path(out: Path, k: int) -> Path:
    return out.with_name(f"{out.stem}-{k:05d}.npy")


def start(rng: np.random.Generator, tokenizer: Any) -> str:
    """The beginning of one text: plain, chat-formatted (with or without a system message) or a single word."""
    words = json.loads(WORDS.read_text(encoding="utf-8"))

    def pick(items: list[str]) -> str:
        return items[int(rng.integers(len(items)))]

    kind = str(rng.choice(list(KINDS), p=list(KINDS.values())))
    if kind == "plain":
        return fill(pick(words["plain"]), words, pick)
    if kind == "word":
        return pick(words["names"] + words["openers"])
    return _chat(fill(pick(words["questions"]), words, pick), tokenizer, system=bool(rng.random() < 0.6))


def fill(pattern: str, words: dict[str, list[str]], pick: Draw) -> str:
    """Replace each ``{name}``, ``{topic}``, ... in ``pattern`` by a draw of its own from the list of that name."""
    slots = {
        "{name}": "names",
        "{topic}": "topics",
        "{year}": "years",
        "{language}": "languages",
        "{place}": "places",
        "{object}": "objects",
        "{job}": "jobs",
        "{number}": "numbers",
    }
    for slot, key in slots.items():
        while slot in pattern:
            pattern = pattern.replace(slot, pick(words[key]), 1)
    return pattern


def _chat(question: str, tokenizer: Any, system: bool) -> str:
    if not system:
        return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
    message = [{"role": "user", "content": question}]
    return tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)


def _check_template(tokenizer: Any) -> None:
    """data.py finds the reply by counting tokens; fail early when the template no longer fits."""
    ids = tokenizer("<|im_start|>assistant\n", add_special_tokens=False).input_ids
    if len(ids) != 4 or ids[:2] != [START_OF_TURN, ASSISTANT]:
        raise SystemExit(f"the chat template's reply opens with {ids}, which training/data.py does not expect")


if __name__ == "__main__":
    main()
