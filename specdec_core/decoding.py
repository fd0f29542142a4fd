"""Draft, verify, judge, correct: speculative decoding as a generator that yields one block at a time.

Source: Leviathan et al. 2023, algorithm 1; Chen et al. 2023, algorithm 2. Both models keep their caches between
blocks and roll them back after a rejection; one target pass judges a whole block.

Does not know: which models these are, torch, files, the screen. Holds no global state: each call has its own
sessions and its own random streams, so that results do not depend on who else is decoding.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from specdec_core.acceptance import Judgement, Rule, judge
from specdec_core.distributions import Array, Warp, draw, probabilities, uniform, uniforms
from specdec_core.models.protocol import ModelInfo, Pair, Session
from specdec_core.recording import Recorder, Support
from specdec_core.trace import Block, ModelRecord, Next, Settings, Token, Trace

#: A longer prompt is refused before it is cut into tokens: no context is that long, and a trace holds no longer text.
MAX_PROMPT = 200_000
END_OF_TEXT, TOKEN_BUDGET, CONTEXT_LENGTH = "end of text", "token budget", "context length"


class InvalidPrompt(ValueError):
    """A prompt cannot be continued. ``str(error)`` is one plain sentence."""


@dataclass
class Streams:
    """Three independent random streams from one seed: draft draws, r_t, residual and bonus draws.

    Were two of them one, acceptance rates would stay right and the text's law would not (reused randomness).
    """

    draft: np.random.Generator
    r: np.random.Generator
    correction: np.random.Generator

    @classmethod
    def from_seed(cls, seed: int) -> "Streams":
        return cls(*(np.random.Generator(np.random.PCG64(s)) for s in np.random.SeedSequence(seed).spawn(3)))


@dataclass(frozen=True)
class _Drafted:
    """What the draft proposed: token ids and, per candidate, the q it was drawn from, over the draft's support."""

    tokens: list[int]
    q: list[Array]


def prompt_ids(pair: Pair, settings: Settings) -> list[int]:
    """The prompt's token ids. Raises InvalidPrompt when there are none or too many."""
    if len(settings.prompt) > MAX_PROMPT:
        raise InvalidPrompt(f"The prompt has {len(settings.prompt):,} characters; at most {MAX_PROMPT:,} can be read.")
    try:
        ids = pair.tokenizer.encode(settings.prompt)
    except ValueError as error:
        raise InvalidPrompt(f"The prompt cannot be read: {error}") from None
    if not ids:
        raise InvalidPrompt("The prompt is empty; write at least one word.")
    limit = _context(pair)
    if limit is not None and len(ids) >= limit:
        raise InvalidPrompt(f"The prompt has {len(ids):,} tokens; the models read at most {limit - 1:,}.")
    return ids


def _context(pair: Pair) -> int | None:
    known = [n for n in (pair.draft.context_length, pair.target.context_length) if n is not None]
    return min(known) if known else None


def decode(
    pair: Pair,
    settings: Settings,
    *,
    trace: bool = True,
    stop: Callable[[], bool] = lambda: False,
    end_ids: frozenset[int] | None = None,
) -> Iterator[Block]:
    """Continue ``settings.prompt`` block by block, until the text ends or ``stop()`` is true between two blocks.

    trace: False leaves positions' top tokens and alpha out (for benchmarks); what is emitted is the same.
    end_ids: tokens that end the text; the tokenizer's own by default.

    Raises InvalidPrompt at once for a prompt that cannot be continued, before the first block is asked for.
    """
    ids = prompt_ids(pair, settings)
    return _blocks(_Decoder(pair, settings, ids, trace, end_ids), stop)


def _blocks(decoder: "_Decoder", stop: Callable[[], bool]) -> Iterator[Block]:
    while not decoder.ended and not stop():
        yield decoder.block()


class _Decoder:
    """The state between two blocks: the verified tokens, one session per model, three streams."""

    def __init__(
        self, pair: Pair, settings: Settings, ids: Sequence[int], trace: bool, end_ids: frozenset[int] | None
    ) -> None:
        self.settings = settings
        self.verified = list(ids)
        self.end_ids = pair.tokenizer.end_ids if end_ids is None else end_ids
        self.rule: Rule = settings.acceptance
        self.warp = Warp(settings.temperature, settings.top_k, settings.top_p)
        self.streams = Streams.from_seed(settings.seed)
        self.draft, self.target = pair.draft.start(), pair.target.start()
        self.support = Support(getattr(pair.draft, "output_ids", None), pair.target.vocabulary_size)
        self.recorder = Recorder(pair.tokenizer.token_text, self.support, full=trace)
        self.budget, self.reason = _budget(pair, settings, len(self.verified))
        self.index = 0
        self.ended = False

    def block(self) -> Block:
        """One turn. Every step is timed on its own."""
        start = len(self.verified)
        clock = _Clock()
        drafted = self._draft(min(self.settings.tau, self.budget))
        clock.lap("draft")
        p, after = self._verify(drafted.tokens)
        clock.lap("verify")
        r = uniforms(self.streams.r, len(drafted.tokens))
        q = [self.support.at(row, x) for row, x in zip(drafted.q, drafted.tokens, strict=True)]
        judged = judge([bool(self.rule.accepts(p[i][x], q[i], r[i])) for i, x in enumerate(drafted.tokens)])
        clock.lap("judge")
        following, ids = self._next(drafted, p, after, judged)
        emitted = drafted.tokens[: judged.n_a] + ids
        self._commit(emitted)
        clock.lap("correct")
        positions = self.recorder.positions(drafted.tokens, drafted.q, p, r, judged, self.rule)
        shown = tuple(self.recorder.token(x) for x in emitted)
        clock.lap("record")
        self.index += 1
        return Block(
            index=self.index - 1,
            start=start,
            positions=positions,
            n_a=judged.n_a,
            first_rejected=judged.first_rejected,
            next=following,
            emitted=shown,
            ends=self._ending(emitted),
            seconds=clock.laps,
        )

    def _draft(self, tau: int) -> _Drafted:
        """Candidates one after the other: each is drawn given the verified tokens and the candidates before it."""
        out = _Drafted([], [])
        new = self.verified[self.draft.length :]
        extend = getattr(self.draft, "extend_narrow", self.draft.extend)
        for _ in range(tau):
            q = probabilities(extend(new)[-1], self.warp)
            token = self.support.token(draw(q, uniform(self.streams.draft)))
            out.tokens.append(token)
            out.q.append(q)
            new = [token]
            if token in self.end_ids:  # nothing can follow it, so nothing is drafted after it
                break
        return out

    def _verify(self, candidates: list[int]) -> tuple[list[Array], Array]:
        """p at each candidate, and the logits after the last one, from one pass: they are all there already."""
        new = self.verified[self.target.length :] + candidates
        *scored, after = self.target.extend(new, last=len(candidates) + 1)
        return [probabilities(row, self.warp) for row in scored], after

    def _next(
        self, drafted: _Drafted, p: list[Array], after: Array, judged: Judgement
    ) -> tuple[Next | None, list[int]]:
        """The correction after a rejection, the bonus after none, nothing where the text has ended already."""
        n_a = judged.n_a
        if judged.first_rejected is None:
            if n_a == self.budget or (drafted.tokens and drafted.tokens[-1] in self.end_ids):
                return None, []
            law, source = probabilities(after, self.warp), "bonus"
        else:
            law, source = self.rule.correct(p[n_a], self.support.spread(drafted.q[n_a])), self.rule.correction
        u = uniform(self.streams.correction)
        token = draw(law, u)
        top = self.recorder.bonus(law) if source == "bonus" else ()
        return Next(n_a + 1, source, self.recorder.token(token), float(law[token]), u, top), [token]

    def _commit(self, emitted: list[int]) -> None:
        """Add what stayed, take what did not from both caches. The last token is not cached: its logits come next."""
        self.verified += emitted
        self.budget -= len(emitted)
        for session in (self.draft, self.target):
            _forget(session, len(self.verified) - 1)
        self.ended = self.budget == 0 or any(x in self.end_ids for x in emitted)

    def _ending(self, emitted: list[int]) -> str:
        if any(x in self.end_ids for x in emitted):
            return END_OF_TEXT
        return self.reason if self.budget == 0 else ""


def _budget(pair: Pair, settings: Settings, length: int) -> tuple[int, str]:
    """How many tokens may still be emitted, and the reason that will be given when they are used up."""
    limit = _context(pair)
    if limit is not None and limit - length < settings.max_new_tokens:
        return limit - length, CONTEXT_LENGTH
    return settings.max_new_tokens, TOKEN_BUDGET


def _forget(session: Session, length: int) -> None:
    if session.length > length:
        session.rollback(length)


class _Clock:
    """Seconds per part, lap by lap."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, part: str) -> None:
        now = time.perf_counter()
        self.laps[part] = now - self._last
        self._last = now


def plain(
    pair: Pair, settings: Settings, *, end_ids: frozenset[int] | None = None, stop: Callable[[], bool] = lambda: False
) -> Iterator[int]:
    """The target alone, one token per pass: what speculative decoding is compared with. Yields token ids.

    Its draws come from the correction stream, so the text differs from ``decode``'s although its law is the same.
    """
    verified = prompt_ids(pair, settings)
    ends = pair.tokenizer.end_ids if end_ids is None else end_ids
    warp = Warp(settings.temperature, settings.top_k, settings.top_p)
    rng = Streams.from_seed(settings.seed).correction
    budget, _ = _budget(pair, settings, len(verified))
    return _plain(pair.target.start(), verified, warp, rng, budget, ends, stop)


def _plain(
    session: Session,
    new: list[int],
    warp: Warp,
    rng: np.random.Generator,
    budget: int,
    end_ids: frozenset[int],
    stop: Callable[[], bool],
) -> Iterator[int]:
    for _ in range(budget):
        if stop():
            return
        token = draw(probabilities(session.extend(new)[-1], warp), uniform(rng))
        yield token
        if token in end_ids:
            return
        new = [token]


def assemble(pair: Pair, settings: Settings, blocks: Sequence[Block], title: str = "") -> Trace:
    """The trace of ``blocks``, complete with the models and the text decoded from all ids at once."""
    tokenizer = pair.tokenizer
    ids = [token.id for block in blocks for token in block.emitted if token.id is not None]
    return Trace(
        settings=settings,
        draft=_record(pair.draft.info),
        target=_record(pair.target.info),
        prompt=tuple(Token(tokenizer.token_text(i), i) for i in tokenizer.encode(settings.prompt)),
        blocks=tuple(blocks),
        text=tokenizer.decode(ids),
        title=title,
    )


def _record(info: ModelInfo) -> ModelRecord:
    return ModelRecord(info.name, info.device, info.dtype, info.parameters, info.layers)
