"""Modes across tasks, generators, coroutines and threads."""

import asyncio
import threading

import pytest

import gnomon as gn
from gnomon.settings import current, override
from gnomon.tensor.state import narrow

MODES = [
    (gn.no_grad, gn.is_grad_enabled),
    (gn.inference_mode, gn.is_grad_enabled),
    (lambda: gn.autocast("cpu"), lambda: narrow.get() is None),
    (lambda: override(debug=0, pending_limit=7), lambda: current().pending_limit != 7),
]


@pytest.mark.parametrize(("mode", "is_off"), MODES)
def test_tasks_that_take_turns_have_modes_of_their_own(mode, is_off):
    async def inside():
        for _ in range(3):
            with mode():
                await asyncio.sleep(0)
                assert not is_off()
                await asyncio.sleep(0)
            assert is_off()

    async def outside():
        for _ in range(8):
            assert is_off()
            await asyncio.sleep(0)

    async def all_together():
        await asyncio.gather(inside(), outside(), inside(), outside())

    asyncio.run(all_together())


def test_one_block_may_be_shared_by_tasks():
    block = gn.no_grad()

    async def inside(iterations):
        with block:
            for _ in range(iterations):
                await asyncio.sleep(0)
                assert not gn.is_grad_enabled()
        assert gn.is_grad_enabled()

    async def all_together():
        await asyncio.gather(inside(3), inside(1), inside(2))

    asyncio.run(all_together())


@pytest.mark.parametrize("decorator", [gn.no_grad(), gn.autocast("cpu")])
def test_a_decorated_generator_has_the_mode_in_its_turns_alone(decorator):
    def modes():
        return gn.is_grad_enabled(), narrow.get()

    @decorator
    def numbers():
        seen = yield modes()
        try:
            yield seen, modes()
        except ValueError:
            yield modes()
        return modes()

    before, made = modes(), numbers()
    inside = next(made)

    assert inside != before
    assert modes() == before
    assert made.send(3) == (3, inside)
    assert made.throw(ValueError()) == inside
    with pytest.raises(StopIteration) as end:
        next(made)
    assert end.value.value == inside
    assert modes() == before


def test_a_decorated_coroutine_has_the_mode_while_it_waits():
    @gn.no_grad()
    async def inside():
        await asyncio.sleep(0)
        return gn.is_grad_enabled()

    async def all_together():
        return await asyncio.gather(inside(), asyncio.sleep(0), inside())

    assert asyncio.run(all_together()) == [False, None, False]


def test_a_thread_begins_with_the_default_modes():
    seen = []
    with gn.no_grad(), gn.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((gn.is_grad_enabled(), narrow.get())))
        thread.start()
        thread.join()

    assert seen == [(True, None)]
    assert gn.is_grad_enabled()


def test_threads_that_share_a_decorated_function_keep_their_modes():
    scaled = gn.autocast("cpu")(lambda x: x @ x)
    errors = []

    def work():
        try:
            for _ in range(50):
                scaled(gn.ones(2, 2))
                assert narrow.get() is None
        except AssertionError as error:
            errors.append(error)

    crew = [threading.Thread(target=work) for _ in range(4)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()

    assert not errors
