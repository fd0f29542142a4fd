"""alpha of the draft that ships, on prompts that training never saw: ``python -m training.evaluate --json out.json``.

The target continues every prompt of ``prompts.json``; at each token that it is about to write, alpha = sum min(p, q) at
that temperature, with q from the stored (int8) weights. Does not know: how the draft was trained.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from specdec_core.models import embedded
from training.data import ENDS
from training.generate import sample

TEMPERATURES = (1.0, 0.7)
PROMPTS = Path(__file__).with_name("prompts.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=64, help="how far the target continues each prompt")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draft", type=Path, help="folder of the draft; the repository's own when absent")
    parser.add_argument("--texts", type=Path, help="keep the target's continuations in this file and use them again")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    target = embedded.load_target(torch.float32)
    texts = continuations(target, args)
    draft = load(args.draft)
    table = {kind: {t: measure(target, draft, texts[kind][t], float(t)) for t in texts[kind]} for kind in texts}
    report(table)
    if args.json:
        args.json.write_text(json.dumps(summary(table), indent=1) + "\n", encoding="utf-8")


def load(folder: Path | None) -> Any:
    """The draft in float32, from ``folder`` or from where it ships."""
    if folder is not None:
        embedded.draft_dir = lambda: folder
    return embedded.load_draft(torch.float32)


def continuations(target: Any, args: argparse.Namespace) -> dict[str, dict[str, list[list[list[int]]]]]:
    """Per kind and temperature a list of [prompt ids, continuation ids], cut after the first end-of-text token."""
    if args.texts and args.texts.exists():
        return json.loads(args.texts.read_text())
    tokenizer = embedded.load_tokenizer()
    texts: dict[str, dict[str, list[list[list[int]]]]] = {}
    for kind, prompts in json.loads(PROMPTS.read_text(encoding="utf-8")).items():
        ids = [encode(tokenizer, kind, prompt) for prompt in prompts]
        texts[kind] = {}
        for t in TEMPERATURES:
            generator = torch.Generator().manual_seed(args.seed)
            rows = sample(target, ids, max(map(len, ids)) + args.tokens, t, generator).tolist()
            replies = [row[len(p) : len(p) + args.tokens] for p, row in zip(ids, rows, strict=True)]
            texts[kind][str(t)] = [[p, cut_reply(r)] for p, r in zip(ids, replies, strict=True)]
    if args.texts:
        args.texts.write_text(json.dumps(texts))
    return texts


def encode(tokenizer: Any, kind: str, prompt: str) -> list[int]:
    """The ids of a prompt; one of kind "chat" is put into the chat template."""
    if kind == "chat":
        message = [{"role": "user", "content": prompt}]
        prompt = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
    return tokenizer(prompt, add_special_tokens=False).input_ids


def cut_reply(tokens: list[int]) -> list[int]:
    """``tokens`` up to and including the first that ends the text."""
    ends = [i for i, token in enumerate(tokens) if token in ENDS]
    return tokens[: ends[0] + 1] if ends else tokens


@torch.no_grad()
def measure(target: Any, draft: Any, texts: list[list[list[int]]], temperature: float) -> list[list[float]]:
    """alpha before each token of each continuation."""
    found = []
    for prompt, reply in texts:
        ids = torch.tensor([prompt + reply[:-1]])
        p = torch.softmax(target(ids).logits[0, len(prompt) - 1 :].double() / temperature, -1)[:, draft.output_ids]
        q = torch.softmax(draft(ids).logits[0, len(prompt) - 1 :].double() / temperature, -1)
        found.append(torch.minimum(p, q).sum(-1).tolist())
    return found


def summary(table: dict[str, dict[str, list[list[float]]]]) -> dict[str, Any]:
    """Mean alpha by kind and temperature (every position weighs the same within a kind), and the mean over kinds."""
    kinds = {k: {t: round(float(np.mean(np.concatenate(v))), 4) for t, v in row.items()} for k, row in table.items()}
    counts = {k: {t: int(sum(map(len, v))) for t, v in row.items()} for k, row in table.items()}
    mean = {str(t): round(float(np.mean([kinds[k][str(t)] for k in kinds])), 4) for t in TEMPERATURES}
    return {"alpha": kinds, "positions": counts, "mean_over_kinds": mean}


def report(table: dict[str, dict[str, list[list[float]]]]) -> None:
    """Print the table."""
    found = summary(table)
    print(f"{'kind':<10}" + "".join(f"   T={t:<5}  n    " for t in TEMPERATURES))
    for kind, row in found["alpha"].items():
        cells = (f"   {row[str(t)]:.3f}  {found['positions'][kind][str(t)]:>4}   " for t in TEMPERATURES)
        print(f"{kind:<10}" + "".join(cells))
    print(f"{'mean':<10}" + "".join(f"   {found['mean_over_kinds'][str(t)]:.3f}          " for t in TEMPERATURES))


if __name__ == "__main__":
    main()
