"""Text sampled from the target: ``python -m training.sample --out text.npz --sequences 8192``.

Starts are made from patterns and word lists, or are questions that the target itself puts into the user's mouth; what
follows is the target's own, 60 % of the sequences at temperature 0.7 and the rest at 1, the whole vocabulary, 160
tokens each. Written in parts, so that it can be interrupted and started again. Does not know: the draft, losses.
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
from training.data import ASSISTANT, ENDS, ROW, START_OF_TURN
from training.generate import sample

WORDS = Path(__file__).with_name("starts.json")
BATCH = 128
# Share of the sequences at each temperature.
TEMPERATURES = {0.7: 0.6, 1.0: 0.4}
# How often each kind of start is drawn.
KINDS = {"plain": 0.42, "chat": 0.16, "asked": 0.34, "word": 0.08}
# Tokens in which the target has to ask its question, and the temperature at which it does: at 1 many make no sense.
QUESTION, QUESTION_TEMPERATURE = 40, 0.8

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
    generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
    starts = _starts(rng, tokenizer, target, generator)
    prompts = [tokenizer(text, add_special_tokens=False).input_ids for text in starts]
    tokens = sample(target, prompts, ROW, temperature, generator).numpy().astype(np.uint16)
    partial = path.with_suffix(".partial.npy")
    np.save(partial, tokens)
    partial.replace(path)
    print(f"batch {k}: T {temperature}", flush=True)
    return tokens


def _part_path(out: Path, k: int) -> Path:
    return out.with_name(f"{out.stem}-{k:05d}.npy")


def _starts(rng: np.random.Generator, tokenizer: Any, target: Any, generator: torch.Generator) -> list[str]:
    """The beginnings of one batch, in no order."""
    kinds = rng.choice(list(KINDS), p=list(KINDS.values()), size=BATCH)
    starts = [start(str(kind), rng, tokenizer) for kind in kinds if kind != "asked"]
    for question in _questions(BATCH - len(starts), tokenizer, target, generator):
        starts.append(_chat(question, tokenizer, system=bool(rng.random() < 0.6)))
    return starts


def start(kind: str, rng: np.random.Generator, tokenizer: Any) -> str:
    """The beginning of one text: plain, chat-formatted (with or without a system message) or a single word."""
    words = json.loads(WORDS.read_text(encoding="utf-8"))

    def pick(items: list[str]) -> str:
        return items[int(rng.integers(len(items)))]

    if kind == "plain":
        return fill(pick(words["plain"]), words, pick)
    if kind == "word":
        return pick(words["names"] + words["openers"])
    return _chat(fill(pick(words["questions"]), words, pick), tokenizer, system=bool(rng.random() < 0.6))


def _questions(count: int, tokenizer: Any, target: Any, generator: torch.Generator) -> list[str]:
    """What the target writes where the user's words would stand: as varied as what it was tuned on.

    (Xu et al. 2024, arXiv:2406.08464, make instruction data in this way.) A question that does not end in time is
    taken as far as it got.
    """
    if count == 0:
        return []
    frame = _chat("", tokenizer, system=True)
    opening = tokenizer(frame[: frame.index("<|im_end|>\n<|im_start|>assistant")], add_special_tokens=False).input_ids
    room = len(opening) + QUESTION
    rows = sample(target, [opening] * count, room, QUESTION_TEMPERATURE, generator)[:, len(opening) :]
    return [_until_end(row.tolist(), tokenizer) for row in rows]


def _until_end(tokens: list[int], tokenizer: Any) -> str:
    end = next((at for at, token in enumerate(tokens) if token in ENDS), len(tokens))
    return str(tokenizer.decode(tokens[:end], skip_special_tokens=True)).strip() or "Hello!"


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
