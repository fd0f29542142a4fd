"""The mistakes people make with the acceptance rule: one registry, named everywhere by id.

A wrong answer in a question carries one of these ids, so that a person reads what happened and a teacher can count
where the room went wrong. A question may replace ``says`` by a sentence with its own numbers; the id stays.

Does not know: questions, grading.
"""

from dataclasses import dataclass

from specdec_core.words import _


@dataclass(frozen=True)
class Misconception:
    """id: the stable name in data and exports. name: a few words for a chart's axis. says: what to tell the person."""

    id: str
    name: str
    says: str


def _entries() -> tuple[tuple[str, str, str], ...]:
    # Written out so that the catalogue's extractor finds every sentence; translated when asked for, not when imported.
    return (
        (
            "inverted_ratio",
            _("Inverted ratio"),
            _("This comes from q/p. The ratio is p/q: the target's probability divided by the draft's."),
        ),
        (
            "difference_not_ratio",
            _("Difference instead of ratio"),
            _("This is a difference of p and q. The rule compares r with the ratio p/q."),
        ),
        (
            "product_not_ratio",
            _("Product instead of ratio"),
            _("This is p times q. The rule compares r with the ratio p/q."),
        ),
        (
            "compared_with_half",
            _("Compared with 0.5"),
            _("This compares p/q with 0.5. The bar is not fixed: it is r, drawn anew for every position."),
        ),
        (
            "accepted_when_r_larger",
            _("Accepted when r is larger"),
            _("The comparison is the wrong way round: a candidate is rejected when r is larger than p/q."),
        ),
        (
            "compared_r_with_p",
            _("Compared r with p"),
            _("This compares r with p alone. What counts is p/q: how much the target likes it relative to the draft."),
        ),
        (
            "compared_r_with_q",
            _("Compared r with q"),
            _("This compares r with q, the draft's own probability. The target has the say: compare r with p/q."),
        ),
        (
            "p_must_reach_q",
            _("Accepted only if p is at least q"),
            _("A candidate with p below q is not lost: it stays with probability p/q, and r decides."),
        ),
        (
            "equality_rejects",
            _("Equality rejects"),
            _("Rejected means r is larger than p/q. Equal is not larger, so equality accepts."),
        ),
        (
            "impossible_accepted",
            _("Accepted a token with p = 0"),
            _("The target gives this token probability 0, so it must never be kept, whatever r is."),
        ),
        (
            "not_clipped",
            _("Probability above 1"),
            _("A probability is never above 1: the chance of being kept is the smaller of 1 and p/q."),
        ),
        (
            "clipped_wrong_way",
            _("Clipped the wrong way"),
            _("This takes the larger of 1 and p/q. The chance of being kept is the smaller of the two."),
        ),
        (
            "one_r_for_all",
            _("One r for the whole block"),
            _("This uses the first r everywhere. Every position has an r of its own."),
        ),
        (
            "smallest_ratio",
            _("Took the smallest ratio"),
            _("This is the candidate with the smallest p/q. The first one whose r is above its p/q is what counts."),
        ),
        (
            "last_rejection",
            _("Took a later rejection"),
            _("This comparison also fails, but later. The block ends at the first rejection."),
        ),
        (
            "counted_after_rejection",
            _("Counted after the rejection"),
            _("This counts candidates after the first rejection as well. They are not reached and never count."),
        ),
        (
            "counted_the_rejected",
            _("Counted the rejected one"),
            _("This counts the rejected candidate too. n_a counts only the candidates before it."),
        ),
        (
            "off_by_one",
            _("Off by one"),
            _("This is one too few: every candidate before the first rejected one counts."),
        ),
        (
            "counted_rejections",
            _("Counted the rejections"),
            _("This counts the candidates that were not accepted. n_a counts the accepted ones."),
        ),
        (
            "zero_when_all_pass",
            _("n_a = 0 when all pass"),
            _("No rejection does not mean zero: when no position is rejected, all candidates are accepted."),
        ),
        (
            "undefined_when_all_pass",
            _("n_a undefined when all pass"),
            _("The minimum over an empty set is left open by the formula; it is agreed that n_a is then tau."),
        ),
        (
            "counted_the_bonus",
            _("Counted the bonus token"),
            _("The bonus token is emitted, but it is no candidate: n_a counts accepted candidates only."),
        ),
        (
            "bonus_after_rejection",
            _("Bonus token after a rejection"),
            _("A bonus token follows only when all candidates are accepted. After a rejection the target corrects."),
        ),
        (
            "forgot_the_next_token",
            _("Forgot the next token"),
            _("A block emits one token more than it accepts: the corrected token or the bonus token."),
        ),
        (
            "emitted_all_candidates",
            _("Kept every candidate"),
            _("This counts every drafted candidate, whether it was accepted or not."),
        ),
        (
            "mixed_denominator",
            _("Wrong denominator"),
            _("Judged and drafted are different counts: what is not reached was drafted but never judged."),
        ),
        (
            "rejected_one_unjudged",
            _("Left out the rejected one"),
            _("The rejected candidate was judged as well: judged are the accepted ones and the first rejected one."),
        ),
        (
            "drafted_independently",
            _("Drafted independently"),
            _("The draft writes one token after the other: each candidate depends on the candidates before it."),
        ),
        (
            "ignores_own_earlier_candidates",
            _("Ignored the earlier candidates"),
            _("The draft also sees its own candidates from earlier in this block, although nobody has verified them."),
        ),
        (
            "sees_itself",
            _("Saw the candidate itself"),
            _("A candidate cannot be part of the context it is drawn from."),
        ),
        (
            "sees_later_candidates",
            _("Saw later candidates"),
            _("Later candidates do not exist yet when this one is drawn."),
        ),
        (
            "forgot_the_prompt",
            _("Forgot the prompt"),
            _("The prompt X and the verified tokens always belong to the context."),
        ),
        (
            "only_the_last_token",
            _("Only the last token"),
            _("A language model sees everything before, not only the token right before."),
        ),
        (
            "target_sees_less",
            _("Another context for the target"),
            _("Target and draft score a candidate given the same context, or p/q would compare different things."),
        ),
        (
            "target_runs_per_token",
            _("One target pass per candidate"),
            _("The target scores the whole block in one pass; that is where the time is won."),
        ),
        (
            "later_scores_still_count",
            _("Used scores after the rejection"),
            _("Scores after a rejection assume the rejected token was kept; they are thrown away."),
        ),
        (
            "forgot_to_renormalise",
            _("Forgot to renormalise"),
            _("What p lacks does not sum to 1 yet: divide by its sum."),
        ),
        (
            "q_minus_p",
            _("q - p instead of p - q"),
            _("This uses q - p. The residual is where the target has more than the draft: max(0, p - q)."),
        ),
        (
            "drew_again_from_p",
            _("Drew again from p"),
            _("This draws from p itself. Tokens that the draft proposes too often would then be emitted too often."),
        ),
        (
            "drew_again_from_q",
            _("Drew again from q"),
            _("This draws from the draft. After a rejection the target corrects, from its residual."),
        ),
        (
            "argmax_not_draw",
            _("Took the most likely token"),
            _("This takes the most likely token. The next token is drawn; likely is not certain."),
        ),
        (
            "residual_for_bonus",
            _("Residual for the bonus token"),
            _("The residual is for corrections. With nothing rejected, the bonus token is drawn from p itself."),
        ),
        (
            "bonus_at_wrong_position",
            _("Bonus from the wrong position"),
            _("The bonus token stands at position tau + 1, so the target's distribution there is what counts."),
        ),
        (
            "kept_negative_differences",
            _("Kept negative differences"),
            _("Where p is below q nothing is lacking: that token gets 0, not a negative or absolute difference."),
        ),
        (
            "tv_not_alpha",
            _("Rejection instead of acceptance"),
            _("This is the chance of a rejection. Acceptance is one minus it: the overlap, the sum of min(p, q)."),
        ),
        (
            "tv_not_halved",
            _("Forgot the half"),
            _("This is the sum of all differences. The total variation distance is half of it."),
        ),
        (
            "max_not_min",
            _("Maximum instead of minimum"),
            _("The overlap takes the smaller of p and q for every token, not the larger."),
        ),
        (
            "forgot_to_weigh",
            _("Forgot to weigh"),
            _("This is what happens once a candidate is rejected: weigh it with the chance that one is."),
        ),
        (
            "added_not_multiplied",
            _("Added instead of multiplied"),
            _("One thing after another: the chances multiply, they do not add."),
        ),
        (
            "compared_p_with_threshold",
            _("Compared p with the threshold"),
            _("This compares p with the threshold. The fixed rule compares the ratio p/q with it."),
        ),
        (
            "swapped_kept_and_lost",
            _("Kept and lost swapped"),
            _("It is the other way round: a token stays when its p/q reaches the threshold."),
        ),
        (
            "thought_unbiased",
            _("Expected p"),
            _("This is what the random rule would give. With a fixed bar the output is no longer p."),
        ),
        (
            "only_the_kept",
            _("Left out the corrections"),
            _("This counts only kept candidates. A rejected one is replaced, and that token is emitted too."),
        ),
        (
            "plus_all_p",
            _("Added a full p"),
            _("The correction happens only when a candidate is rejected: weigh it with that probability."),
        ),
        (
            "r_saves_work",
            _("Randomness for speed or variety"),
            _("Randomness is there for correctness: the output then follows p exactly."),
        ),
        (
            "multiplied_by_tau",
            _("Multiplied instead of raised"),
            _("Chances of independent steps multiply: alpha to the power of tau, not alpha times tau."),
        ),
        (
            "one_position_only",
            _("One position only"),
            _("This is the chance for a single position. All positions must pass, one after the other."),
        ),
        (
            "any_not_all",
            _("Some instead of all"),
            _("This is the chance that at least one passes. Here all of them must."),
        ),
        (
            "tau_not_tau_plus_one",
            _("tau instead of tau + 1"),
            _("The power is tau + 1, because a block emits up to tau + 1 tokens, the bonus token included."),
        ),
        (
            "accepted_not_emitted",
            _("Accepted instead of emitted"),
            _("This is the number of accepted candidates. Every block emits one token more."),
        ),
        (
            "forgot_the_rejection",
            _("Forgot the rejection's own factor"),
            _("To stop exactly there, the next candidate must also be rejected: multiply by that chance too."),
        ),
        (
            "forgot_the_cost",
            _("Forgot the draft's cost"),
            _("Drafting is not free: the tau draft steps cost time that the gain must be divided by."),
        ),
        (
            "cost_without_pass",
            _("Left out the target's pass"),
            _("A block costs tau draft steps and one target pass: divide by tau c + 1."),
        ),
        (
            "longest_is_best",
            _("Longest block is best"),
            _("Longer blocks cost more drafting, and late candidates are rarely reached: the gain has a peak."),
        ),
        (
            "outside_the_range",
            _("Outside the range"),
            _("This value does not do both: check each comparison with it."),
        ),
        (
            "other_position",
            _("Another position's numbers"),
            _("These numbers belong to another position. Each candidate is judged by its own p, q and r."),
        ),
        (
            "chose_too_many",
            _("Marked a token that does not belong"),
            _("One of the marked entries does not belong."),
        ),
    )


def misconceptions() -> dict[str, Misconception]:
    """Every known misconception by id, in the language in use."""
    return {id_: Misconception(id_, name, says) for id_, name, says in _entries()}


IDS: frozenset[str] = frozenset(id_ for id_, _name, _says in _entries())


def misconception(id_: str) -> Misconception:
    """The one with this id. Raises KeyError for an unknown id."""
    return misconceptions()[id_]
