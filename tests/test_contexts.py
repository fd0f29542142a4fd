"""Recorded contexts: an exact pair of distributions each, whatever is asked of it, and a word where one is broken."""

import json

import numpy as np
import pytest

from specdec_core import contexts
from specdec_core.acceptance import Rule, output_law
from specdec_core.contexts import Context, InvalidContext, packed, store, store_index
from specdec_core.distributions import Warp, probabilities
from specdec_core.simulation import collect, simulate
from specdec_core.statistics import goodness_of_fit
from specdec_core.theory import acceptance_rate

VOCABULARY = 300


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with two small contexts."""
    monkeypatch.setattr(contexts, "FOLDER", tmp_path)
    clear()
    rng = np.random.default_rng(0)
    found = []
    for name, noise in (("far", 4.0), ("near", 0.5)):
        target = rng.normal(0, 3, VOCABULARY).astype(np.float32)
        draft = target + rng.normal(0, noise, VOCABULARY).astype(np.float32)
        draft[200:] = -np.inf
        p, q = (probabilities(packed(x)) for x in (target, draft))
        found.append(Context(name, "story", "Once upon", (1, 2), acceptance_rate(p, q), "d", "t"))
        store(tmp_path, name, target, draft)
    store_index(tmp_path, found[::-1], [f"<{i}>" for i in range(VOCABULARY)])
    yield tmp_path
    clear()


def clear():
    for cached in (contexts.contexts, contexts.logits, contexts.vocabulary):
        cached.cache_clear()


def test_what_is_written_can_be_read(folder):
    far, near = contexts.contexts()
    assert (far.name, near.name) == ("far", "near") and far.alpha < near.alpha
    assert contexts.token_texts([0, 299]) == ["<0>", "<299>"]
    for found in (far, near):
        p, q = contexts.pair_at(found.name)
        assert p.dtype == q.dtype == np.float64 and p.shape == q.shape == (VOCABULARY,)
        assert abs(p.sum() - 1) < 1e-12 and abs(q.sum() - 1) < 1e-12 and q[200:].sum() == 0
        assert acceptance_rate(p, q) == pytest.approx(found.alpha, abs=1e-12)


def test_any_warp_can_be_asked_for(folder):
    p, q = contexts.pair_at("near", Warp(0.5, 5, 0.9))
    assert np.count_nonzero(p) <= 5 and abs(q.sum() - 1) < 1e-12
    assert np.count_nonzero(contexts.pair_at("near", Warp(0.0))[0]) == 1


def test_what_is_shared_cannot_be_changed(folder):
    with pytest.raises(ValueError):
        contexts.logits("near")[0][0] = 1


def test_unknown_and_damaged_contexts_are_named(folder):
    with pytest.raises(InvalidContext, match="no recorded context named 'nothing'"):
        contexts.pair_at("nothing")
    (folder / "near.npz").write_bytes(b"nonsense")
    with pytest.raises(InvalidContext, match="'near' cannot be read"):
        contexts.pair_at("near")
    np.savez(folder / "far.npz", target=np.zeros(3), draft=np.zeros(3))
    with pytest.raises(InvalidContext, match="'far' is damaged"):
        contexts.pair_at("far")
    (folder / contexts.INDEX).write_text(json.dumps([{"name": "x"}]))
    clear()
    with pytest.raises(InvalidContext, match="cannot be read"):
        contexts.contexts()
    (folder / contexts.VOCABULARY).write_bytes(b"")
    with pytest.raises(InvalidContext, match="vocabulary"):
        contexts.vocabulary()


def test_logits_too_far_apart_for_half_precision_are_refused(tmp_path):
    with pytest.raises(ValueError, match="half precision"):
        store(tmp_path, "far", np.array([1e6, 0.0]), np.array([0.0, 0.0]))


def test_without_a_folder_there_are_none(tmp_path, monkeypatch):
    monkeypatch.setattr(contexts, "FOLDER", tmp_path / "none")
    clear()
    assert contexts.contexts() == ()
    clear()


# --- the ones in the repository --------------------------------------------------------------------------------------

clear()
RECORDED = [x.name for x in contexts.contexts()]


def test_they_span_little_agreement_to_much():
    found = contexts.contexts()
    assert len(found) >= 8 and len({x.kind for x in found}) >= 4
    assert found[0].alpha < 0.35 and found[-1].alpha > 0.75
    assert all(x.rounding < 0.002 for x in found)
    size = sum(path.stat().st_size for path in contexts.FOLDER.iterdir())
    assert size <= 3_000_000


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_pair_is_exact(name):
    p, q = contexts.pair_at(name)
    assert p.size == len(contexts.vocabulary())
    assert abs(p.sum() - 1) < 1e-12 and abs(q.sum() - 1) < 1e-12
    assert acceptance_rate(p, q) == pytest.approx(contexts.context(name).alpha, abs=2e-6)
    assert np.abs(output_law(p, q).output - p).max() < 1e-12


@pytest.mark.parametrize("name", RECORDED)
def test_rules_are_judged_rightly_at_a_real_place(name):
    """The random rule passes and the fixed one is found out, by chi-square at level 0.001 over 300,000 trials: a false
    alarm once in a thousand for each of ten contexts, 1 % in all; the seed is fixed.
    """
    p, q = contexts.pair_at(name)
    rules = [Rule(), Rule("fixed", 0.5), Rule(correction="target"), Rule("always")]
    done = collect(simulate(p, q, rules, 300_000, seed=3, marks=[300_000]))
    assert not goodness_of_fit(done.counts[0], p).rejected
    for rule, counts in zip(rules[1:], done.counts[1:], strict=True):
        if output_law(p, q, rule).tv > 0.01:
            assert goodness_of_fit(counts, p).rejected, rule
