"""What a rule does to whole texts, estimated with error bars (exactly, on toy models: see ``textlaw``).

Estimates. Given the text so far, and whether the next token is a candidate or a bonus, its law under a rule is known
exactly. So the law of the k-th token is estimated by averaging these laws over the texts (Rao-Blackwell), which is far
less noisy than counting tokens: the first token's law is exact from a single text. What noise remains is measured, not
assumed: halves of the exact rule's own texts are compared, and errors come from leaving out one group at a time.

Does not know: which models these are, files, the screen.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from specdec_core.acceptance import Rule
from specdec_core.decoding import decode, prompt_ids
from specdec_core.distributions import Array, Warp, probabilities, top_tokens, total_variation
from specdec_core.models.protocol import LanguageModel, Pair
from specdec_core.textstudy import Curve, Estimate, Likely, RuleTexts, TextRecord, TextStudy
from specdec_core.trace import Block, Settings, totals

#: Texts are dealt into this many groups; an error bar comes from leaving out one group at a time (jackknife).
GROUPS = 8
#: How many of the most likely tokens of a position are kept for the screen.
SHOWN = 6


# --- one place -------------------------------------------------------------------------------------------------------


def pair_at(pair: Pair, prompt: str, position: int | None = None, warp: Warp | None = None) -> tuple[Array, Array]:
    """(p, q) of the token after the first ``position`` tokens of ``prompt`` (by default all), each of shape ``(V,)``.

    Raises InvalidPrompt for a prompt that cannot be continued, ValueError for a position outside it.
    """
    ids = prompt_ids(pair, Settings(prompt, pair.name))
    end = len(ids) if position is None else position
    if not 1 <= end <= len(ids):
        raise ValueError(f"position must be between 1 and {len(ids)}, not {position}.")
    p, q = (probabilities(m.start().extend(ids[:end])[-1], warp or Warp()) for m in (pair.target, pair.draft))
    return p, q


# --- one text --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """A text with the law each of its tokens was emitted from, shape ``(n, V)``: passed on, summed up, not kept."""

    record: TextRecord
    laws: Array


def measure_text(pair: Pair, settings: Settings) -> Measured:
    """Decode one text under ``settings`` and score it with one pass of each model.

    Raises InvalidPrompt for a prompt that cannot be continued.
    """
    blocks = list(decode(pair, settings, trace=False))
    ids = [x.id for b in blocks for x in b.emitted if x.id is not None]
    context = prompt_ids(pair, settings)
    warp = Warp(settings.temperature, settings.top_k, settings.top_p)
    p, q = (_rows(model, context, ids, warp) for model in (pair.target, pair.draft))
    laws = p.copy()
    for i in _candidate_positions(blocks):
        laws[i] = _emitted(p[i], q[i], settings.acceptance)
    with np.errstate(divide="ignore"):
        log_p = np.log(p[np.arange(len(ids)), ids])
    total = totals(blocks)
    record = TextRecord(
        seed=settings.seed,
        ids=tuple(ids),
        text=pair.tokenizer.decode(ids),
        log_p=tuple(log_p.tolist()),
        bias=tuple(total_variation(a, b) for a, b in zip(laws, p, strict=True)),
        blocks=total.blocks,
        drafted=total.drafted,
        judged=total.judged,
        accepted=total.accepted,
    )
    return Measured(record, laws)


def _rows(model: LanguageModel, context: list[int], ids: list[int], warp: Warp) -> Array:
    """The model's distribution before each of ``ids``, shape ``(n, V)``."""
    logits = model.start().extend([*context, *ids[:-1]], last=len(ids))
    return np.stack([probabilities(row, warp) for row in logits])


def _candidate_positions(blocks: Sequence[Block]) -> Iterator[int]:
    """The indices of emitted tokens that were candidates or took a candidate's place; the others are bonus tokens."""
    done = 0
    for block in blocks:
        yield from (done + i for i in range(len(block.emitted)) if i < block.tau)
        done += len(block.emitted)


def _emitted(p: Array, q: Array, rule: Rule) -> Array:
    kept = q * rule.accept_probability(p, q)
    return kept + max(0.0, 1.0 - float(kept.sum())) * rule.correct(p, q)


# --- many texts ------------------------------------------------------------------------------------------------------


class TextTally:
    """What is kept while texts come in: records, and per rule and group the summed laws of each position.

    Memory: rules x groups x length x V float32; 38 MB a rule for 8 groups of 24 tokens over 49,152. Fewer groups take
    less and make error bars rougher. Raises ValueError for fewer than two.
    """

    def __init__(self, pair: Pair, settings: Settings, rules: Sequence[Rule], groups: int = GROUPS) -> None:
        if groups < 2:
            raise ValueError(f"groups must be 2 or more, not {groups}.")
        self.pair, self.settings, self.rules = pair, settings, tuple(rules)
        size = pair.target.vocabulary_size
        shape = (len(self.rules), groups, settings.max_new_tokens, size + 1)
        self.laws = np.zeros(shape, dtype=np.float32)
        self.counts = np.zeros((len(self.rules), groups), dtype=np.int64)
        self.records: list[list[TextRecord]] = [[] for _ in self.rules]

    def add(self, index: int, measured: Measured) -> None:
        """Add a text of rule ``index``."""
        group = len(self.records[index]) % self.laws.shape[1]
        n = len(measured.laws)
        self.laws[index, group, :n, :-1] += measured.laws
        self.laws[index, group, n:, -1] += 1.0
        self.counts[index, group] += 1
        self.records[index].append(measured.record)

    @property
    def complete(self) -> int:
        """How many texts every rule has."""
        return min(len(records) for records in self.records)

    def study(self) -> TextStudy:
        """The measures so far. Raises ValueError before every rule has at least two texts."""
        if self.complete < 2:
            raise ValueError("There are too few texts yet: every rule needs at least two.")
        reference = _group_means(self.laws[0], self.counts[0])
        rules = tuple(self._rule(i, reference) for i in range(len(self.rules)))
        floor = _floor(self.laws[0], self.counts[0])
        return TextStudy(self.settings, rules, floor, self.pair.draft.info.name, self.pair.target.info.name)

    def _rule(self, index: int, reference: tuple[Array, list[Array]]) -> RuleTexts:
        rule, records = self.rules[index], self.records[index]
        means = reference if index == 0 else _group_means(self.laws[index], self.counts[index])
        reached = [sum(len(r.ids) > k for r in records) for k in range(self.settings.max_new_tokens)]
        finite = [[x for x in r.log_p if np.isfinite(x)] for r in records]
        return RuleTexts(
            rule=rule.name,
            parameter=rule.parameter,
            correction=rule.correction,
            texts=tuple(records),
            log_p=_curve([r.log_p for r in records], self.settings.max_new_tokens),
            bias=_curve([r.bias for r in records], self.settings.max_new_tokens),
            law_tv=_law_tv(means, reference, reached),
            likely=_likely(self.pair, means[0]),
            log_likelihood=_mean([sum(x) / len(x) for x in finite if x]),
            distinct_1=_mean([_distinct(r.ids, 1) for r in records]),
            distinct_2=_mean([_distinct(r.ids, 2) for r in records]),
            repetition=_mean([1.0 - _distinct(r.ids, 1) for r in records]),
            variety=_variety(records),
            acceptance=_ratio([(r.accepted, r.judged) for r in records]),
            tokens_per_block=_ratio([(len(r.ids), r.blocks) for r in records]),
            impossible=sum(len(r.log_p) - len(x) for r, x in zip(records, finite, strict=True)),
            ended=sum(len(r.ids) < self.settings.max_new_tokens for r in records),
        )


def continue_texts(
    tally: TextTally, seeds: Sequence[int], stop: Callable[[], bool] = lambda: False
) -> Iterator[tuple[int, TextRecord]]:
    """Fill ``tally`` with one text per seed and rule; yields (rule's index, text) after each, until ``stop()``.

    Seed by seed, all rules in turn, so that a run stopped early compares like with like.
    """
    for seed in seeds:
        for index, rule in enumerate(tally.rules):
            if stop():
                return
            settings = replace(
                tally.settings, seed=seed, rule=rule.name, parameter=rule.parameter, correction=rule.correction
            )
            measured = measure_text(tally.pair, settings)
            tally.add(index, measured)
            yield index, measured.record


# --- statistics ------------------------------------------------------------------------------------------------------


def _group_means(laws: Array, counts: Array) -> tuple[Array, list[Array]]:
    """The mean law per position, shape ``(n, V + 1)``, over all texts and with each non-empty group left out."""
    total = laws.sum(axis=0, dtype=np.float64)
    n = int(counts.sum())
    without = [(total - laws[g]) / (n - counts[g]) for g in range(len(counts)) if 0 < counts[g] < n]
    return total / n, without


def _law_tv(means: tuple[Array, list[Array]], reference: tuple[Array, list[Array]], n: list[int]) -> Curve:
    value = _tv_rows(means[0], reference[0])
    parts = np.array([_tv_rows(a, b) for a, b in zip(means[1], reference[1], strict=False)])
    groups = len(parts)
    error = np.sqrt((groups - 1) / groups * ((parts - parts.mean(axis=0)) ** 2).sum(axis=0))
    return Curve(tuple(value.tolist()), tuple(error.tolist()), tuple(n))


def _tv_rows(a: Array, b: Array) -> Array:
    return 0.5 * np.abs(a - b).sum(axis=1)


def _floor(laws: Array, counts: Array) -> tuple[float, ...]:
    """TV between the laws of odd and even groups, over sqrt(2): halves are noisier than the whole by that much each."""
    halves = [laws[g::2].sum(axis=0, dtype=np.float64) / max(1, int(counts[g::2].sum())) for g in (0, 1)]
    return tuple((_tv_rows(*halves) / np.sqrt(2)).tolist())


def _likely(pair: Pair, mean: Array) -> tuple[tuple[Likely, ...], ...]:
    return tuple(
        tuple(
            Likely(i, pair.tokenizer.token_text(i), float(row[i]))
            for i in top_tokens(np.ascontiguousarray(row[:-1]), SHOWN).tolist()
            if row[i] > 0
        )
        for row in mean
    )


def _curve(rows: Sequence[Sequence[float]], length: int) -> Curve:
    columns = [[row[k] for row in rows if len(row) > k and np.isfinite(row[k])] for k in range(length)]
    means = [_mean(column) for column in columns]
    return Curve(tuple(m.value for m in means), tuple(m.error for m in means), tuple(len(column) for column in columns))


def _mean(values: Sequence[float]) -> Estimate:
    if not values:
        return Estimate(0.0, 0.0)
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return Estimate(float(np.mean(values)), error)


def _ratio(pairs: Sequence[tuple[int, int]]) -> Estimate:
    """A ratio of sums over texts, its error by the delta method: a text with more blocks counts for more."""
    a, b = np.array([x for x, _ in pairs], dtype=float), np.array([y for _, y in pairs], dtype=float)
    if not b.sum():
        return Estimate(0.0, 0.0)
    ratio = a.sum() / b.sum()
    n = len(pairs)
    error = np.sqrt(((a - ratio * b) ** 2).sum() * n / max(1, n - 1)) / b.sum()
    return Estimate(float(ratio), float(error))


def _distinct(ids: Sequence[int], n: int) -> float:
    grams = [tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)]
    return len(set(grams)) / len(grams) if grams else 1.0


def _variety(records: Sequence[TextRecord]) -> float:
    grams = [r.ids[i : i + 2] for r in records for i in range(len(r.ids) - 1)]
    return len(set(grams)) / len(grams) if grams else 1.0
