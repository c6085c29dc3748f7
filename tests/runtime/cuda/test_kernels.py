"""Kernels on a card: loaded once while somebody holds them, and given back after."""

from __future__ import annotations

import gc

import pytest

from gnomon.errors import CompileError
from gnomon.runtime.backend import CUDA
from gnomon.runtime.cuda.kernels import load
from gnomon.settings import override
from tests.cuda.cards import card
from tests.cuda.fake_driver import FakeDriver
from tests.runtime.kernels import add_text


def test_a_text_is_loaded_once_while_its_handle_is_held():
    texts = {name: add_text(name, 16) for name in ("card_add", "card_more")}
    with card(FakeDriver(1 << 20)) as fake:
        first, second = load(texts), load({"card_add": texts["card_add"]})

        assert first["card_add"] == second["card_add"] != first["card_more"]
        assert (fake.calls["cuModuleLoadDataEx"], len(fake.modules)) == (2, 2)


def test_machine_code_is_on_the_disk_for_the_next_process(tmp_path):
    text = {"card_known": add_text("card_known", 16)}
    made = []
    for _ in range(2):
        with card(FakeDriver(1 << 20)) as fake, override(cache_dir=str(tmp_path)):
            load(text)
            made.append((fake.calls["cuLinkComplete"], [*fake.modules.values()]))
            assert not fake.links

    assert [count for count, _ in made] == [1, 0]
    assert made[0][1] == made[1][1]


def test_modules_that_nobody_holds_are_given_back_once_the_card_is_done():
    with card(FakeDriver(1 << 20)) as fake:
        load({"card_lost": add_text("card_lost", 16)})
        gc.collect()
        assert len(fake.modules) == 1

        held = load({"card_found": add_text("card_found", 16)})

        assert len(fake.modules) == len(held) == 1
        assert fake.calls["cuCtxSynchronize"] >= 1


def test_a_kernel_of_another_card_is_loaded_anew():
    text = {"card_both": add_text("card_both", 16)}
    with card(FakeDriver(1 << 20)):
        held = load(text)
    with card(FakeDriver(1 << 20)) as fake:
        load(text)
        assert fake.calls["cuModuleLoadDataEx"] == 1
    assert held


def test_there_are_no_files_of_kernels_of_a_card():
    for refuse in (CUDA.kernels.compile, CUDA.kernels.link):
        with pytest.raises(CompileError, match="no kernels of a card"):
            refuse([])
    assert CUDA.kernels.fetch({}) is None
    assert CUDA.kernels.key_of("a") != CUDA.kernels.key_of("b")
