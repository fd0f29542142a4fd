"""How fast decoding is, as ratios within one run: ``python -m benchmarks.decoding``.

Every ratio is a median over rounds in which the ways to decode take turns in shuffled order, so that a busy machine
slows all of them. Prints a table and writes it as JSON. benchmarks/README.md says what came out and why.

Does not know: what a good number is.
"""

import argparse
import json
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from specdec_core.decoding import decode, plain
from specdec_core.distributions import Warp, draw, probabilities
from specdec_core.models.protocol import Pair
from specdec_core.recording import Recorder, Support
from specdec_core.theory import best_tau
from specdec_core.trace import Settings, Totals, totals
from specdec_core.ui.speed_race import measured_cost

NO_END: frozenset[int] = frozenset()
# Written for this purpose: none of them is in the draft's training text.
PROMPTS = [
    "The lighthouse keeper had not spoken to anyone for eleven days when",
    "To make a good vegetable soup, first",
    'def read_lines(path):\n    """Return the lines of a text file."""\n',
    "<|im_start|>user\nWhy is the sky blue?<|im_end|>\n<|im_start|>assistant\n",
]
OUT = Path(__file__).parent / "decoding.json"


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def rounds(ways: dict[str, Callable[[int], object]], n: int) -> dict[str, list[float]]:
    """Seconds of each way in each of ``n`` rounds, after one round that is thrown away. A way is given the round."""
    took: dict[str, list[float]] = {name: [] for name in ways}
    shuffle = random.Random(0)
    for i in range(-1, n):
        for name in shuffle.sample(sorted(ways), len(ways)):
            spent = seconds(partial(ways[name], i + 1))
            if i >= 0:
                took[name].append(spent)
    return took


def ratio(took: dict[str, list[float]], over: str, under: str) -> float:
    """The median over rounds of how many times longer ``over`` took than ``under``."""
    return median(a / b for a, b in zip(took[over], took[under], strict=True))


def asked(i: int, tau: int, temperature: float, tokens: int) -> Settings:
    return Settings(PROMPTS[i % len(PROMPTS)], tau=tau, temperature=temperature, max_new_tokens=tokens, seed=i)


# --- transformers' own assisted generation ---------------------------------------------------------------------------


class Assisted:
    """``generate(assistant_model=...)`` with the same pair, every hidden default switched off."""

    def __init__(self, device: str, dtype: str) -> None:
        import torch
        from transformers import GenerationConfig

        from specdec_core.models import embedded

        kind = getattr(torch, dtype)
        self.target, self.draft = embedded.load_target(kind, device), embedded.load_draft(kind, device)
        self._device = device
        _widen(self.draft, self.target.config.vocab_size)
        for module in (self.target, self.draft):
            module.generation_config = GenerationConfig(pad_token_id=2)

    def __call__(self, prompt: list[int], tau: int, temperature: float, tokens: int, seed: int) -> None:
        import torch
        from transformers import GenerationConfig

        own = self.draft.generation_config
        own.num_assistant_tokens, own.num_assistant_tokens_schedule = tau, "constant"
        own.assistant_confidence_threshold = 0.0
        sampling = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0} if temperature else {}
        config = GenerationConfig(max_new_tokens=tokens, min_new_tokens=tokens, pad_token_id=2, **sampling)
        torch.manual_seed(seed)
        ids = torch.tensor([prompt], device=self._device)
        out = self.target.generate(
            ids, attention_mask=torch.ones_like(ids), generation_config=config, assistant_model=self.draft
        )
        assert out.shape[1] == len(prompt) + tokens


def _widen(draft: Any, width: int) -> None:
    """Spread the draft's narrow logits over the whole vocabulary, as transformers wants them."""
    import torch

    narrow, ids = draft.lm_head, draft.output_ids.to(draft.device)

    class Wide(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            rows = narrow(x)
            return rows.new_full((*rows.shape[:-1], width), -torch.inf).index_copy_(-1, ids, rows)

    draft.lm_head = Wide()
    draft.config.vocab_size = width


# --- the measurements ------------------------------------------------------------------------------------------------


def pass_times(pair: Pair, n: int = 15, context: int = 64) -> dict[str, Any]:
    """Milliseconds of one draft step, and of a target pass over 1, 2, 3, 5, 9 and 17 tokens."""
    ids = (pair.tokenizer.encode(PROMPTS[0]) * context)[: context + 20]

    def one(model: Any, rows: int) -> float:
        session = model.start()
        session.extend(ids[:context])
        extend, took = getattr(session, "extend_narrow", session.extend), []
        for _ in range(n + 2):
            took.append(seconds(lambda: extend(ids[context : context + rows], rows)))
            session.rollback(context)
        return 1000 * median(took[2:])

    target = {str(rows): one(pair.target, rows) for rows in (1, 2, 3, 5, 9, 17)}
    draft = one(pair.draft, 1)
    return {"draft": draft, "target": target, "cost": draft / target["1"]}


def measure_alpha(pair: Pair, tau: int, temperature: float, tokens: int, n: int = 4) -> Totals:
    return totals(b for i in range(n) for b in decode(pair, asked(i, tau, temperature, tokens), end_ids=NO_END))


def advised(pair: Pair, temperature: float, tokens: int, n: int = 4) -> int:
    """The tau that the speed page would advise: by alpha and by cost as they are in the loop, where the models take
    turns in the processor's cache and a draft step costs more than it does by itself.
    """
    found = measure_alpha(pair, 3, temperature, tokens, n)
    step = median(
        seconds(lambda i=i: list(plain(pair, asked(i, 1, temperature, tokens), end_ids=NO_END))) / tokens  # type: ignore[misc]
        for i in range(n)
    )
    return max(1, best_tau(found.accepted_per_judged, measured_cost(found, step)))


def compare(pair: Pair, assisted: dict[str, Assisted], tau: int, temperature: float, tokens: int, n: int) -> Any:
    """Speculative decoding with and without trace, plain decoding, and transformers' assisted generation."""

    def spec(i: int, trace: bool) -> None:
        list(decode(pair, asked(i, tau, temperature, tokens), end_ids=NO_END, trace=trace))

    ways: dict[str, Callable[[int], object]] = {
        "plain": lambda i: list(plain(pair, asked(i, tau, temperature, tokens), end_ids=NO_END)),
        "with trace": lambda i: spec(i, True),
        "without trace": lambda i: spec(i, False),
    }
    for dtype, run in assisted.items():
        ways[f"transformers {dtype}"] = lambda i, run=run: run(  # type: ignore[misc]
            pair.tokenizer.encode(PROMPTS[i % len(PROMPTS)]), tau, temperature, tokens, i
        )
    took = rounds(ways, n)
    best = min((x for x in ways if x.startswith("transformers")), key=lambda x: median(took[x]), default=None)
    found = measure_alpha(pair, tau, temperature, tokens)
    return {
        "tau": tau,
        "temperature": temperature,
        "alpha": found.alpha,
        "tokens per block": found.tokens_per_block,
        "accepted/judged": found.accepted_per_judged,
        "speculative with trace : plain, speed": ratio(took, "plain", "with trace"),
        "with : without trace, time": ratio(took, "with trace", "without trace"),
        "ours : transformers, speed": ratio(took, best, "with trace") if best else None,
        "transformers' faster format": best,
        "tokens per second": {name: tokens / median(t) for name, t in took.items()},
        "share of recording in a block": found.seconds.get("record", 0.0) / sum(found.seconds.values()),
        "milliseconds per block": {k: 1000 * v / found.blocks for k, v in found.seconds.items()},
    }


def trace_cost(pair: Pair, tau: int, tokens: int, n: int) -> float:
    """With : without trace, alternating, the same seed both times: the same text and the same passes."""
    ways: dict[str, Callable[[int], object]] = {
        str(on): lambda i, on=on: list(decode(pair, asked(i, tau, 1.0, tokens), end_ids=NO_END, trace=on))  # type: ignore[misc]
        for on in (True, False)
    }
    return ratio(rounds(ways, n), "True", "False")


def by_tau(pair: Pair, tokens: int, n: int) -> dict[str, float]:
    """Speed over plain decoding for growing tau, at temperature 1."""
    ways: dict[str, Callable[[int], object]] = {
        "0": lambda i: list(plain(pair, asked(i, 1, 1.0, tokens), end_ids=NO_END))
    }
    for tau in (1, 2, 3, 4, 6, 8):
        ways[str(tau)] = lambda i, tau=tau: list(decode(pair, asked(i, tau, 1.0, tokens), end_ids=NO_END))  # type: ignore[misc]
    took = rounds(ways, n)
    return {tau: ratio(took, "0", tau) for tau in ways}


def by_length(pair: Pair) -> dict[str, float]:
    """Time of one verification of five tokens after so many tokens, over that after 64."""
    took = {str(length): pass_times(pair, 7, length)["target"]["5"] for length in (64, 256, 1024, 2048)}
    return {length: value / took["64"] for length, value in took.items()}


def by_vocabulary(n: int = 30) -> dict[str, dict[str, float]]:
    """Milliseconds per candidate of what grows with the vocabulary besides the models: softmax and draws, the trace."""
    found = {}
    for size in (1_000, 10_000, 50_000, 150_000):
        rng = np.random.default_rng(size)
        logits = (3 * rng.normal(size=(2, size))).astype(np.float32)
        p, q = (probabilities(row) for row in logits)
        recorder = Recorder(str, Support(None, size), full=True)
        alpha = float(np.minimum(p, q).sum())
        found[str(size)] = {
            "softmax and draw": 1000
            * median(seconds(lambda x=logits: draw(probabilities(x[0], Warp()), 0.5)) for _ in range(n)),  # type: ignore[misc]
            "trace": 1000 * median(seconds(lambda p=p, q=q, a=alpha, r=recorder: r._top(q, p, a, 0)) for _ in range(n)),  # type: ignore[misc]
        }
    return found


LOAD = """
import time
start = time.perf_counter()
from specdec_core.models.pairs import load_pair
load_pair("embedded", {device!r}, {dtype!r})
middle = time.perf_counter()
load_pair("embedded", {device!r}, {dtype!r})
print(middle - start, time.perf_counter() - middle)
"""


def load_times(device: str | None, dtype: str | None, n: int = 3) -> dict[str, float]:
    """Seconds of the first load in a process, imports included, and of a later one."""
    took = []
    for _ in range(n):
        code = LOAD.format(device=device, dtype=dtype)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        took.append([float(x) for x in done.stdout.split()])
    first, later = (median(x) for x in zip(*took, strict=True))
    return {"first, seconds": first, "later, seconds": later, "first : later": first / later}


def about(pair: Pair) -> dict[str, Any]:
    import torch

    return {
        "processor": _processor(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "target": pair.target.info.__dict__,
        "draft": pair.draft.info.__dict__,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def show(value: Any, indent: str = "") -> None:
    """A nested result as a small table."""
    for name, x in value.items():
        if isinstance(x, dict):
            print(f"{indent}{name}")
            show(x, indent + "  ")
        else:
            print(f"{indent}{name:<{46 - len(indent)}}{f'{x:.3f}' if isinstance(x, float) else x}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="cpu, cuda, mps; by default whatever the app would choose")
    parser.add_argument("--dtype", help="float32, bfloat16; by default whatever the app would choose")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--tau", type=int, help="by default the best for the measured alpha and cost")
    parser.add_argument("--parts", default="passes,speed,trace,tau,length,vocabulary,load", help="which to measure")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    parts = options.parts.split(",")

    from specdec_core.models.pairs import load_pair

    pair = load_pair("embedded", options.device, options.dtype)
    device = pair.target.info.device
    result: dict[str, Any] = {"about": about(pair)}
    result["passes, milliseconds"] = pass_times(pair)
    if "speed" in parts:
        assisted = {kind: Assisted(device, kind) for kind in ("float32", "bfloat16")}
        for temperature in (1.0, 0.0):
            tau = options.tau or advised(pair, temperature, options.tokens)
            found = compare(pair, assisted, tau, temperature, options.tokens, options.rounds)
            result[f"speed at temperature {temperature:g}"] = found
    if "trace" in parts:
        result["with : without trace, same text"] = trace_cost(pair, options.tau or 4, options.tokens, options.rounds)
    if "tau" in parts:
        result["speed over plain by tau"] = by_tau(pair, options.tokens, options.rounds)
    if "length" in parts:
        result["verification by text length"] = by_length(pair)
    if "vocabulary" in parts:
        result["milliseconds per candidate by vocabulary"] = by_vocabulary()
    if "load" in parts:
        result["load"] = load_times(options.device, options.dtype)
    show(result)
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
