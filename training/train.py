"""Distil the draft from the target: ``python -m training.train --text text.npz --work /tmp/train``.

Resumable: started again with the same ``--work`` it goes on from its last checkpoint. The target's answers are cached
on disk in the first epoch and read in the later ones. A second process with ``--ahead`` and the same other arguments
may work them out in advance; the result is the same. Does not know: how text is sampled, what alpha is on prompts that
people write (see evaluate.py).
"""

import argparse
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from specdec_core.models import embedded
from training.data import HELD_OUT, Rows, batch, join, load_sequences, pack
from training.fit import fit
from training.losses import Mix, alphas, distil
from training.models import LAYERS, export, first_draft
from training.teacher import Teacher
from training.vocabulary import choose

TEMPERATURES = (1.0, 0.7)
BATCH = 4
WARMUP = 60
CHECKPOINT_SECONDS = 240.0
MONITOR_STEPS = 200
MONITOR_ROWS = 20


@dataclass
class Run:
    """Everything that a step needs."""

    target: Any
    draft: nn.Module
    forward: Any
    optimizer: torch.optim.Optimizer
    teacher: Teacher
    rows: Rows
    head: Tensor
    args: argparse.Namespace


def main() -> None:
    args = _arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    args.work.mkdir(parents=True, exist_ok=True)
    (args.work / ("pid-ahead" if args.ahead else "pid")).write_text(str(os.getpid()))
    sequences = load_sequences(args.text[0])
    more = [load_sequences(path) for path in args.text[1:]]
    ids = torch.from_numpy(choose(sequences[HELD_OUT:], args.vocabulary)).long()
    run, held_out, answers = _prepare(args, sequences, more, ids)
    if args.ahead:
        return _work_ahead(run)
    start, spent = _resume(run)
    if start == 0 and args.start:
        run.draft.load_state_dict(torch.load(args.start, weights_only=True)["draft"], strict=False)
        print("at the start, held out:", _monitor(run, held_out, answers), flush=True)
    elif start == 0 and args.fit_rows:
        fit(run.target, run.draft, LAYERS, run.rows.first(args.fit_rows))
        print("after the fit, held out:", _monitor(run, held_out, answers), flush=True)
        _save(run, ids, 1, 0.0)
    _train(run, held_out, answers, ids, start, spent)
    print("wrote", export(run.draft, ids, args.out), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--text",
        type=Path,
        required=True,
        nargs="+",
        help="npz made by training.sample; the first gives held-out text and vocabulary, one named twice counts twice",
    )
    parser.add_argument(
        "--start", type=Path, help="checkpoint.pt of an earlier run: go on from its weights, not its clock"
    )
    parser.add_argument(
        "--hold", action="store_true", help="keep the rate and the final loss: a run that another one ends"
    )
    parser.add_argument("--work", type=Path, required=True, help="folder for caches and checkpoints (about 1.2 GB)")
    parser.add_argument("--out", type=Path, default=embedded.draft_dir())
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=math.inf, help="finish the schedule in this much time at most")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--vocabulary", type=int, default=24576)
    parser.add_argument("--rows", type=int, default=10**9, help="use only so many packed rows")
    parser.add_argument("--fit-rows", type=int, default=64, help="rows for the least-squares start; 0: none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--ahead", action="store_true", help="only fill the cache of the target's answers")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=True)
    return parser.parse_args()


def _prepare(
    args: argparse.Namespace,
    sequences: list[NDArray[np.int64]],
    more: list[list[NDArray[np.int64]]],
    ids: Tensor,
) -> tuple[Run, Rows, Teacher]:
    target = embedded.load_target(torch.float32)
    head = target.model.embed_tokens.weight.detach()
    draft = first_draft(target)
    compiled = torch.compile if args.compile else lambda module: module
    # A text packed by itself gives the same rows whatever stands beside it.
    rows = join([pack(text, args.seed) for text in [sequences[HELD_OUT:], *more]]).first(args.rows)
    body = compiled(target.model)
    teacher = Teacher(body, rows, args.work, f"train-{args.seed}-{len(rows)}")
    trainable = [p for p in draft.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=args.rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    print(f"{len(rows)} rows, {int(rows.counts.sum())} predictions, layers {LAYERS}, {len(ids)} tokens", flush=True)
    run = Run(target, draft, compiled(draft), optimizer, teacher, rows, head[ids].contiguous(), args)
    held_out = pack(sequences[:HELD_OUT])
    return run, held_out, Teacher(body, held_out, args.work, "held-out")


def _work_ahead(run: Run) -> None:
    for step in range(len(run.rows) // BATCH):
        run.teacher.answer(_rows_of(run, step))
        if step % 50 == 0:
            print(f"answered {step} of {len(run.rows) // BATCH}", flush=True)


def _train(run: Run, held_out: Rows, answers: Teacher, ids: Tensor, start: int, spent: float) -> None:
    began = saved = time.monotonic()
    step = start
    alpha: dict[float, list[float]] = {t: [] for t in TEMPERATURES}
    while (progress := _progress(run.args, step, spent + time.monotonic() - began)) < 1:
        temperature = TEMPERATURES[step % len(TEMPERATURES)]
        alpha[temperature].append(_step(run, step, progress, temperature))
        step += 1
        if step % 20 == 0:
            text = "  ".join(f"alpha({t}) {np.mean(a[-20:]):.3f}" for t, a in alpha.items() if a)
            clock = spent + time.monotonic() - began
            print(f"step {step}  {clock:.0f} s  progress {progress:.3f}  {text}", flush=True)
        if step % MONITOR_STEPS == 0:
            print("held out:", _monitor(run, held_out, answers), flush=True)
        if time.monotonic() - saved > CHECKPOINT_SECONDS:
            _save(run, ids, step, spent + time.monotonic() - began)
            saved = time.monotonic()
    _save(run, ids, step, spent + time.monotonic() - began)
    print("held out:", _monitor(run, held_out, answers), flush=True)


def _progress(args: argparse.Namespace, step: int, seconds: float) -> float:
    return max(step / args.steps, seconds / 60 / args.minutes)


def _step(run: Run, step: int, progress: float, temperature: float) -> float:
    """One update; returns alpha on the batch, before it."""
    index = _rows_of(run, step)
    inputs, counts = batch(run.rows, index)
    target_hidden = run.teacher.ask(index)
    hidden = run.forward(**inputs, use_cache=False).last_hidden_state.flatten(0, 1)
    with torch.no_grad():
        part, alpha = distil(
            hidden.detach()[counts], target_hidden[counts], run.head, temperature, _mix(run.args, progress)
        )
        gradient = torch.zeros_like(hidden)
        gradient[counts] = part
    run.optimizer.zero_grad(set_to_none=True)
    hidden.backward(gradient)
    nn.utils.clip_grad_norm_(run.draft.parameters(), 1.0)
    for group in run.optimizer.param_groups:
        group["lr"] = run.args.rate * _schedule(run.args, step, progress)
    run.optimizer.step()
    return alpha


def _rows_of(run: Run, step: int) -> NDArray[np.int64]:
    """The rows of a step: epochs are permutations, each seeded by its number, so a resumed run sees the same order."""
    per_epoch = len(run.rows) // BATCH
    order = np.random.default_rng([run.args.seed, step // per_epoch]).permutation(len(run.rows))
    at = step % per_epoch * BATCH
    return np.sort(order[at : at + BATCH])


def _mix(args: argparse.Namespace, progress: float) -> Mix:
    """Cross-entropy first: it has a slope wherever q is small. Total variation, which is 1 - alpha, takes over.

    A run that goes on from an earlier one has that behind it.
    """
    turn = 1.0 if args.start else min(max((progress - 0.3) / 0.3, 0.0), 1.0)
    return Mix(1.0 - 0.9 * turn, turn)


def _schedule(args: argparse.Namespace, step: int, progress: float) -> float:
    """Warm-up, then half a cosine down to a fiftieth; or the full rate to the end."""
    warm = min((step + 1) / WARMUP, 1.0)
    return warm if args.hold else warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0))))


def _monitor(run: Run, rows: Rows, answers: Teacher) -> str:
    found: dict[float, list[float]] = {t: [] for t in TEMPERATURES}
    for start in range(0, MONITOR_ROWS, BATCH):
        here = np.arange(start, start + BATCH)
        inputs, counts = batch(rows, here)
        target_hidden = answers.ask(here)[counts]
        with torch.no_grad():
            hidden = run.draft(**inputs, use_cache=False).last_hidden_state.flatten(0, 1)[counts]
            for t in TEMPERATURES:
                found[t].append(float(alphas(hidden, target_hidden, run.head, t).mean()))
    return "  ".join(f"alpha({t}) {np.mean(values):.4f}" for t, values in found.items())


def _save(run: Run, ids: Tensor, step: int, seconds: float) -> None:
    path = run.args.work / "checkpoint.pt"
    draft = {name: tensor for name, tensor in run.draft.state_dict().items() if name != "embed_tokens.weight"}
    state = {"draft": draft, "optimizer": run.optimizer.state_dict(), "step": step, "seconds": seconds}
    torch.save(state, path.with_suffix(".partial"))
    path.with_suffix(".partial").replace(path)
    export(run.draft, ids, run.args.work / "export")


def _resume(run: Run) -> tuple[int, float]:
    path = run.args.work / "checkpoint.pt"
    if not path.exists():
        return 0, 0.0
    state = torch.load(path, weights_only=True)
    run.draft.load_state_dict(state["draft"], strict=False)
    run.optimizer.load_state_dict(state["optimizer"])
    print(f"going on from step {state['step']}", flush=True)
    return int(state["step"]), float(state["seconds"])


if __name__ == "__main__":
    main()
