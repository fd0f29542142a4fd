"""After the verdict: the residual, the next token's law, the bonus token, and why the sum of both ways is p."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from specdec_core.acceptance import residual
from specdec_core.distributions import draw
from specdec_core.exercises.draws import Draws
from specdec_core.exercises.generators.base import (
    Draft,
    Pools,
    Redraw,
    as_floats,
    choice,
    marked,
    number,
    quoted,
    token_rows,
    use,
    whole,
)
from specdec_core.exercises.question import Kind, Option, Table
from specdec_core.exercises.values import about, decimal, on_paper, visible
from specdec_core.theory import acceptance_rate
from specdec_core.words import _

ZERO = Fraction(0)


@dataclass(frozen=True)
class Pair:
    """A target and a draft over a small vocabulary, with what follows from them, on paper."""

    words: tuple[str, ...]
    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    @property
    def alpha(self) -> Fraction:
        return on_paper(acceptance_rate(np.array(as_floats(self.p)), np.array(as_floats(self.q))))

    @property
    def residual(self) -> tuple[Fraction, ...]:
        rest = residual(np.array(as_floats(self.p)), np.array(as_floats(self.q)))
        assert rest is not None
        return tuple(on_paper(float(x)) for x in rest)

    @property
    def lacking(self) -> list[int]:
        """Where p is above q."""
        return [i for i, (a, b) in enumerate(zip(self.p, self.q, strict=True)) if a > b]

    @property
    def table(self) -> Table:
        return Table((_("token"), "q", "p"), token_rows(self.words, self.q, self.p))

    @property
    def plain(self) -> dict[str, Any]:
        return {"vocabulary": list(self.words), "q": as_floats(self.q), "p": as_floats(self.p)}

    def options(self) -> list[Option]:
        return [Option(f"w{i}", visible(word)) for i, word in enumerate(self.words)]


def draw_pair(draws: Draws, pools: Pools, size: Sequence[int], lacking: int = 1) -> Pair:
    """Multiples of 0.05 over ``size`` = [least, most] words; at least ``lacking`` tokens with p > q; no p = q."""
    n = draws.between(size[0], size[1])
    words = draws.sample(draws.choice([v for v in pools.vocabularies if len(v) >= n]), n)
    p, q = (draws.split(n, 20, 1) for _i in range(2))
    more = [a - b for a, b in zip(p, q, strict=True) if a > b]
    # A sum of differences that divides nicely keeps the residual's numbers short. Checked in whole twentieths, because
    # most draws fail here.
    if len(more) < lacking or sum(more) not in (2, 4, 5, 8, 10) or any(a == b for a, b in zip(p, q, strict=True)):
        raise Redraw
    return Pair(tuple(words), tuple(Fraction(x, 20) for x in p), tuple(Fraction(x, 20) for x in q))


def correction(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """settings: ``size`` is [least, most] words; ``lacking``: how many tokens at least have p > q;
    ``draw``: whether a u is drawn as well."""
    pair = draw_pair(draws, pools, settings.get("size", [3, 4]), settings.get("lacking", 2))
    p, q, rest, alpha = pair.p, pair.q, pair.residual, pair.alpha
    lost = draws.choice([i for i in range(len(p)) if p[i] < q[i]])
    x = draws.choice(pair.lacking)
    total = 1 - alpha
    draft = Draft(
        values={
            "rejected": quoted(pair.words[lost]),
            "x": quoted(pair.words[x]),
            "x_p": decimal(p[x]),
            "x_q": decimal(q[x]),
            "x_lack": decimal(p[x] - q[x]),
            "total": decimal(total),
            "x_residual": about(rest[x]),
            "lacking": ", ".join(quoted(pair.words[i]) for i in pair.lacking),
            "sum": " + ".join(decimal(p[i] - q[i]) for i in pair.lacking),
            "alpha": decimal(alpha),
            "alpha_sum": " + ".join(decimal(min(a, b)) for a, b in zip(p, q, strict=True)),
            "x_kept": decimal(min(p[x], q[x])),
            "x_corrected": about(total * rest[x]),
        },
        tables={"pair": pair.table, "residual": _residual_table(pair)},
        distributions=pair.plain,
    )
    _ask_residual(draft, pair, x)
    _ask_identity(draft, pair, x)
    if settings.get("draw"):
        _ask_draw(draft, draws, pair)
    return draft


def _residual_table(pair: Pair) -> Table:
    lack = [max(ZERO, a - b) for a, b in zip(pair.p, pair.q, strict=True)]
    head = (_("token"), "q", "p", "max(0, p - q)", _("residual"))
    rows = token_rows(pair.words, pair.q, pair.p, lack)
    return Table(head, tuple((*row, about(rest)) for row, rest in zip(rows, pair.residual, strict=True)))


def _ask_residual(draft: Draft, pair: Pair, x: int) -> None:
    p, q, rest, total = pair.p, pair.q, pair.residual, 1 - pair.alpha
    above = [f"w{i}" for i in range(len(p)) if q[i] > p[i]]
    most = max(range(len(p)), key=lambda i: (p[i], -i))
    draft.asked["can_be_drawn"] = marked(
        Kind.TOKEN_LIST,
        [f"w{i}" for i in pair.lacking],
        pair.options(),
        ("q_minus_p", above),
        ("drew_again_from_p", [f"w{i}" for i in range(len(p))]),
        ("argmax_not_draw", [f"w{most}"]),
    )
    draft.asked["total"] = number(total, ("kept_negative_differences", 2 * total), ("tv_not_alpha", pair.alpha))
    draft.asked["total"].lenient = True
    draft.asked["x_residual"] = number(
        rest[x],
        ("forgot_to_renormalise", p[x] - q[x]),
        ("drew_again_from_p", p[x]),
        ("q_minus_p", ZERO),
        follow=use("quotient", "total", numerator=p[x] - q[x]),
    )


def _ask_identity(draft: Draft, pair: Pair, x: int) -> None:
    """kept + corrected = p."""
    p, q, rest, alpha = pair.p, pair.q, pair.residual, pair.alpha
    corrected = (1 - alpha) * rest[x]
    largest = sum((max(a, b) for a, b in zip(p, q, strict=True)), ZERO)
    draft.asked["alpha"] = number(alpha, ("tv_not_alpha", 1 - alpha), ("max_not_min", largest))
    draft.asked["alpha"].lenient = True
    draft.asked["x_kept"] = number(q[x], ("product_not_ratio", p[x] * q[x]), ("max_not_min", p[x]))
    draft.asked["x_corrected"] = number(
        corrected,
        ("forgot_to_weigh", rest[x]),
        ("drew_again_from_p", (1 - alpha) * p[x]),
        follow=use("linear", "alpha", factor=-rest[x], add=rest[x]),
    )
    draft.asked["x_out"] = number(
        p[x],
        ("only_the_kept", q[x]),
        ("drew_again_from_p", q[x] + (1 - alpha) * p[x]),
        ("forgot_to_weigh", q[x] + rest[x]),
        follow=use("sum", "x_kept", "x_corrected"),
    )


def _ask_draw(draft: Draft, draws: Draws, pair: Pair) -> None:
    """Which token a uniform number selects, token by token in the table's order."""
    rest = np.array(as_floats(pair.residual))
    u = draws.decimal(4, 96)
    edges = [sum(values[:i], ZERO) for values in (pair.residual, pair.p, pair.q) for i in range(1, len(values))]
    if any(abs(u - edge) < Fraction(2, 100) for edge in edges):
        raise Redraw
    chosen = draw(rest, float(u))
    from_p = draw(np.array(as_floats(pair.p)), float(u))
    if chosen in (from_p, int(rest.argmax())) and draws.below(4):
        raise Redraw  # mostly, the known mistakes should give another token
    draft.values |= {
        "u": decimal(u),
        "drawn": quoted(pair.words[chosen]),
        "cumulative": ", ".join(about(sum(pair.residual[: i + 1], ZERO)) for i in range(len(pair.words))),
    }
    draft.asked["drawn"] = choice(
        f"w{chosen}",
        pair.options(),
        ("drew_again_from_p", f"w{from_p}"),
        ("argmax_not_draw", f"w{int(rest.argmax())}"),
        ("drew_again_from_q", f"w{draw(np.array(as_floats(pair.q)), float(u))}"),
    )


def bonus(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """All passed: what the bonus token is drawn from, and how likely one token is. settings: ``tau``, ``size``."""
    tau = draws.between(*settings.get("tau", [2, 4]))
    pair = draw_pair(draws, pools, settings.get("size", [3, 3]), 2)
    after = tuple(Fraction(x, 20) for x in draws.split(len(pair.words), 20, 1))
    x = draws.choice(pair.lacking)
    options = [
        Option("bonus", _("p at position {t}").format(t=tau + 1)),
        Option("residual", _("the residual at position {t}").format(t=tau)),
        Option("last", _("p at position {t}").format(t=tau)),
        Option("draft", _("q at position {t}").format(t=tau)),
    ]
    draft = Draft(
        values={
            "tau": str(tau),
            "tau_plus_one": str(tau + 1),
            "x": quoted(pair.words[x]),
            "x_bonus": decimal(after[x]),
            "x_last": decimal(pair.p[x]),
        },
        tables={
            "positions": Table(
                (
                    _("token"),
                    _("q at {t}").format(t=tau),
                    _("p at {t}").format(t=tau),
                    _("p at {t}").format(t=tau + 1),
                ),
                token_rows(pair.words, pair.q, pair.p, after),
            )
        },
        distributions=pair.plain,
    )
    draft.asked["source"] = choice(
        "bonus",
        options,
        ("residual_for_bonus", "residual"),
        ("bonus_at_wrong_position", "last"),
        ("drew_again_from_q", "draft"),
    )
    draft.asked["x_bonus"] = number(
        after[x],
        ("residual_for_bonus", pair.residual[x]),
        ("bonus_at_wrong_position", pair.p[x]),
        ("drew_again_from_q", pair.q[x]),
    )
    draft.asked["emitted"] = whole(tau + 1, ("forgot_the_next_token", tau), ("counted_the_rejected", 1))
    return draft
