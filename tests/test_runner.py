"""The queue: fair, patient with nobody who left, and never a part of a block."""

import threading
import time

import pytest

from specdec_core.decoding import decode
from specdec_core.models.protocol import ModelUnavailable, Pair
from specdec_core.models.toy import toy_pair
from specdec_core.runner import Busy, Job, Runner, State
from specdec_core.trace import Settings


def settings(seed: int = 0, tokens: int = 40) -> Settings:
    return Settings("the cat", pair="toy", seed=seed, max_new_tokens=tokens, tau=3)


def wait(job: Job, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while job.active and time.monotonic() < end:
        time.sleep(0.005)
    assert not job.active


@pytest.fixture
def runner() -> Runner:
    return Runner(lambda name: toy_pair())


def emitted(blocks):
    return [(b.n_a, [t.id for t in b.emitted], [x.r for x in b.positions]) for b in blocks]


def test_one_block_then_the_rest_is_the_same_text_as_alone(runner: Runner) -> None:
    job = Job(settings(3))
    runner.ask(job, 1)
    wait(job)
    assert job.state in (State.IDLE, State.ENDED) and len(job.blocks) == 1
    runner.ask(job, None)
    wait(job)
    assert job.state is State.ENDED
    assert emitted(job.blocks) == emitted(decode(toy_pair(), settings(3)))


def test_several_at_once_get_what_each_would_get_alone(runner: Runner) -> None:
    jobs = [Job(settings(seed)) for seed in range(12)]
    threads = [threading.Thread(target=runner.ask, args=(job, None)) for job in jobs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for job in jobs:
        wait(job)
        assert emitted(job.blocks) == emitted(decode(toy_pair(), job.settings))


def test_turns_are_fair() -> None:
    """Without its thread the runner serves the queue by hand: after n turns nobody is more than one block ahead."""
    runner = Runner(lambda name: toy_pair(), start=False)
    jobs = [Job(settings(seed, 200)) for seed in (1, 4, 5)]
    for job in jobs:
        runner.ask(job, None)
    assert [runner.place(job) for job in jobs] == [0, 1, 2]
    for _ in range(5):
        runner.turn(runner._queue.popleft())
    alive = [len(job.blocks) for job in jobs if job.state is not State.ENDED]
    assert not alive or max(alive) - min(alive) <= 1


def test_a_vanished_client_is_dropped_and_holds_up_nobody() -> None:
    runner = Runner(lambda name: toy_pair(), patience=0.0, start=False)
    gone = Job(settings())
    runner.ask(gone, None)
    time.sleep(0.01)
    runner.turn(runner._queue.popleft())
    assert gone.state is State.IDLE and gone.blocks == []


def test_stop_leaves_whole_blocks_and_can_go_on(runner: Runner) -> None:
    job = Job(settings(2, 400))
    runner.ask(job, None)
    runner.stop(job)
    wait(job)
    assert all(b.positions for b in job.blocks)
    trace_before = emitted(job.blocks)
    if job.can_go_on:
        runner.ask(job, None)
        wait(job)
    assert emitted(job.blocks)[: len(trace_before)] == trace_before


def test_a_missing_model_and_a_crash_are_sentences_and_the_queue_lives_on() -> None:
    calls = []

    def load(name: str) -> Pair:
        calls.append(name)
        if len(calls) == 1:
            raise ModelUnavailable("The pair is not installed.")
        if len(calls) == 2:
            raise RuntimeError("boom")
        return toy_pair()

    runner = Runner(load)
    jobs = [Job(settings(i)) for i in range(3)]
    for job in jobs:
        runner.ask(job, 1)
        wait(job)
    assert jobs[0].error == "The pair is not installed."
    assert "boom" not in jobs[1].error and jobs[1].error.endswith(".")
    assert jobs[2].blocks


def test_a_bad_prompt_is_a_sentence(runner: Runner) -> None:
    job = Job(Settings("   ", pair="toy"))
    runner.ask(job, 1)
    wait(job)
    assert job.state is State.FAILED and "prompt is empty" in job.error


def test_a_full_queue_says_so() -> None:
    runner = Runner(lambda name: toy_pair(), most=1, start=False)
    runner.ask(Job(settings()), 1)
    with pytest.raises(Busy, match="try again"):
        runner.ask(Job(settings()), 1)
