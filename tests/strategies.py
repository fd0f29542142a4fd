"""What property tests are fed: distributions with all the awkward ones among them, and blocks from toy decodings."""

import numpy as np
from hypothesis import strategies as st

from specdec_core.decoding import assemble, decode
from specdec_core.models.protocol import Pair
from specdec_core.models.toy import ToyModel, ToyTokenizer
from specdec_core.trace import Settings, Trace

# Texts that something on the way to the screen might take for its own.
NASTY = ["<b>", "$x$", "*a*", "`c`", ":sun:", "[a](b)", " ", "\n", "", "<0xE2>", "=1+1", "“", "a|b"]
NASTY += ["\u200b", "名", "&amp;", "\r"]


@st.composite
def distributions(draw: st.DrawFn, size: int) -> np.ndarray:
    """A distribution over ``size`` tokens: smooth, one-hot, with zeros, or of few decimals."""
    kind = draw(st.sampled_from(["smooth", "one-hot", "zeros", "decimal"]))
    if kind == "one-hot":
        p = np.zeros(size)
        p[draw(st.integers(0, size - 1))] = 1
        return p
    weights = np.array(draw(st.lists(st.floats(1e-6, 1), min_size=size, max_size=size)))
    if kind == "zeros":
        weights *= np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    if kind == "decimal":
        weights = np.round(weights * 20)
    if weights.sum() == 0:
        weights[draw(st.integers(0, size - 1))] = 1
    return weights / weights.sum()


@st.composite
def pairs_of_distributions(draw: st.DrawFn, largest: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """p and q over the same tokens; now and then equal, now and then with disjoint supports."""
    size = draw(st.integers(2, largest))
    p = draw(distributions(size))
    kind = draw(st.sampled_from(["any", "any", "any", "equal", "disjoint"]))
    if kind == "equal":
        return p, p.copy()
    q = draw(distributions(size))
    if kind == "disjoint":
        mask = np.arange(size) < size // 2
        p, q = np.where(mask, p + 1e-3, 0), np.where(mask, 0, q + 1e-3)
        p, q = p / p.sum(), q / q.sum()
    return p, q


@st.composite
def toy_traces(draw: st.DrawFn) -> Trace:
    """A short text of toy models whose words are nasty, under any rule."""
    size = 6
    words = [*draw(st.permutations(NASTY))[: size - 1], "<end>"]
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    tables: list[dict[tuple[int, ...], list[float]]] = [
        {(i,): rng.dirichlet(np.full(size, 0.7)).tolist() for i in range(size)} for _ in range(2)
    ]
    flat = [1 / size] * size

    class Words(ToyTokenizer):
        def encode(self, text: str) -> list[int]:
            return [0]

        def token_text(self, token: int) -> str:
            return self.vocabulary[token]

    pair = Pair(
        "nasty",
        ToyModel("draft", flat, tables[0]),
        ToyModel("target", flat, tables[1]),
        Words(words, end=("<end>",)),
    )
    settings = Settings(
        draw(st.sampled_from(NASTY)),
        tau=draw(st.integers(1, 5)),
        max_new_tokens=draw(st.integers(1, 12)),
        temperature=draw(st.sampled_from([0.0, 0.5, 1.0, 2.0])),
        rule=draw(st.sampled_from(["random", "fixed", "lenient", "always", "never"])),
        correction=draw(st.sampled_from(["residual", "target", "argmax"])),
        seed=draw(st.integers(0, 2**32 - 1)),
    )
    return assemble(pair, settings, list(decode(pair, settings)))
