"""What the draft sees: the tokens in the condition, the formula, statements, and a small draft worked by hand."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from specdec_core.exercises.draws import Draws
from specdec_core.exercises.generators.base import Draft, Pools, Redraw, choice, marked, number, quoted, token_rows, use
from specdec_core.exercises.question import Kind, Option, Table
from specdec_core.exercises.values import decimal, visible
from specdec_core.words import _


def seen_tokens(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """Mark what the draft conditions on for candidate t. settings: ``tau`` is [least, most]."""
    tau = draws.between(*settings.get("tau", [4, 5]))
    context, tokens = draws.choice(pools.sentences)
    if len(tokens) < tau:
        raise Redraw
    t = draws.between(3, tau - 1)
    return seen_draft(context[-3:], tokens[:tau], t)


def seen_draft(verified: Sequence[str], candidates: Sequence[str], t: int) -> Draft:
    """The draft for these tokens and this t >= 2, at most tau - 1, so that later candidates exist."""
    base = ["x", *(f"v{i}" for i in range(1, len(verified) + 1))]
    drafted = [f"t{i}" for i in range(1, len(candidates) + 1)]
    options = [
        Option("x", _("X: the prompt")),
        *(
            Option(f"v{i}", _("verified: {token}").format(token=visible(token)))
            for i, token in enumerate(verified, start=1)
        ),
        *(
            Option(f"t{i}", _("candidate {t}: {token}").format(t=i, token=visible(token)))
            for i, token in enumerate(candidates, start=1)
        ),
    ]
    right = [*base, *drafted[: t - 1]]
    rows = [(_("verified"), "", visible(token)) for token in verified]
    rows += [(_("candidate"), str(i), visible(token)) for i, token in enumerate(candidates, start=1)]
    draft = Draft(
        values={
            "t": str(t),
            "token": quoted(candidates[t - 1]),
            "before": str(t - 1),
            "verified": visible("".join(verified)),
            "earlier": ", ".join(quoted(token) for token in candidates[: t - 1]),
            "tau": str(len(candidates)),
        },
        tables={"tokens": Table((_("what"), "t", _("token")), tuple(rows))},
        block={"context": list(verified), "tokens": list(candidates)},
    )
    wrong = [
        ("ignores_own_earlier_candidates", base),
        ("sees_itself", [*right, drafted[t - 1]]),
        ("sees_later_candidates", [*base, *drafted]),
        ("forgot_the_prompt", right[1:]),
        ("only_the_last_token", [drafted[t - 2]]),
    ]
    draft.asked["seen"] = marked(Kind.TOKEN_LIST, right, options, *wrong)
    wrong_target = [("target_sees_less", ids) if name.startswith("ignores") else (name, ids) for name, ids in wrong]
    draft.asked["target_sees"] = marked(Kind.TOKEN_LIST, right, options, *wrong_target)
    return draft


def formula(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """Complete the condition of Pr_q and of Pr_p at a concrete t."""
    t = draws.between(3, 5)
    seen = ", ".join(f"ŷ(i+{k})" for k in range(1, t))
    texts = {
        "right": f"X, Y≤i, {seen}",
        "base": "X, Y≤i",
        "itself": f"X, Y≤i, {seen}, ŷ(i+{t})",
        "own": seen,
        "last": f"ŷ(i+{t - 1})",
    }
    names = {
        "base": "ignores_own_earlier_candidates",
        "itself": "sees_itself",
        "own": "forgot_the_prompt",
        "last": "only_the_last_token",
    }
    options = draws.shuffled([Option(id_, text) for id_, text in texts.items()])
    draft = Draft(values={"t": str(t), "right": texts["right"], "count": str(t - 1)})
    draft.asked["draft"] = choice("right", options, *((why, id_) for id_, why in names.items()))
    target = {**names, "base": "target_sees_less"}
    draft.asked["target"] = choice("right", draws.shuffled(options), *((why, id_) for id_, why in target.items()))
    return draft


def statements(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """Mark the true statements. settings: ``statements`` is a list of {text, true, misconception (if false)}."""
    known = settings["statements"]
    true = draws.sample([s for s in known if s["true"]], draws.between(2, 3))
    false = draws.sample([s for s in known if not s["true"]], draws.between(2, 3))
    shown = draws.shuffled([*true, *false])
    options = [Option(f"s{i}", _(s["text"])) for i, s in enumerate(shown, start=1)]
    right = [f"s{i}" for i, s in enumerate(shown, start=1) if s["true"]]
    wrong = [(s["misconception"], [*right, f"s{i}"]) for i, s in enumerate(shown, start=1) if not s["true"]]
    true_texts = " ".join(_(s["text"]) for s in shown if s["true"])
    draft = Draft(values={"count": str(len(shown)), "true_count": str(len(right)), "true_texts": true_texts})
    draft.asked["true"] = marked(Kind.MULTI_CHOICE, right, options, *wrong)
    return draft


def small_draft(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """A draft that looks one token back, as a table; asked is its probability for writing two candidates."""
    words = draws.sample(draws.choice([v for v in pools.vocabularies if len(v) >= 3]), 3)
    start, first, second = words[0], words[1], words[2]
    rows = {word: [Fraction(x, 10) for x in draws.split(3, 10, 1)] for word in words}
    column = {word: i for i, word in enumerate(words)}
    q1, q2 = rows[start][column[first]], rows[first][column[second]]
    alone = rows[start][column[second]]
    if alone == q2:
        raise Redraw
    head = _("after")
    table = Table(
        (head, *(visible(word) for word in words)),
        token_rows(words, *([rows[word][i] for word in words] for i in range(3))),
    )
    draft = Draft(
        values={
            "start": quoted(start),
            "first_token": quoted(first),
            "second_token": quoted(second),
            "q1": decimal(q1),
            "q2": decimal(q2),
            "alone": decimal(alone),
            "product": decimal(q1 * q2),
        },
        tables={"draft": table},
    )
    draft.asked["q1"] = number(q1, ("other_position", rows[first][column[start]]))
    draft.asked["q1"].lenient = True
    draft.asked["q2"] = number(q2, ("drafted_independently", alone))
    draft.asked["product"] = number(
        q1 * q2,
        ("drafted_independently", q1 * alone),
        ("one_position_only", q2),
        ("added_not_multiplied", q1 + q2),
        follow=use("product", "q1", "q2"),
    )
    return draft
