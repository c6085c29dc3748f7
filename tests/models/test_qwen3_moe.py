"""Routing is what numpy says in float64, ties fall to the first expert, and no token is dropped."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ConfigError
from gnomon.models.initialization import initialize
from gnomon.models.qwen3_moe import Qwen3MoeForCausalLM, Qwen3MoeSparseMoeBlock
from gnomon.models.qwen3_moe_config import PRESETS, Qwen3MoeConfig
from gnomon.train.config import build

SIZES = dict(
    vocab_size=300,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=3,
    num_key_value_heads=1,
    head_dim=8,
    max_position_embeddings=16,
    num_experts=5,
    num_experts_per_tok=3,
    moe_intermediate_size=20,
)


def block_of(rng: np.random.Generator, **changes: object) -> Qwen3MoeSparseMoeBlock:
    """A block with random weights."""
    block = Qwen3MoeSparseMoeBlock(Qwen3MoeConfig(**{**SIZES, **changes}))
    with gn.no_grad():
        for p in block.parameters():
            p.copy_(gn.from_numpy(rng.normal(size=tuple(p.shape)).astype("f4")))
    return block


def by_numpy(block: Qwen3MoeSparseMoeBlock, x: np.ndarray) -> np.ndarray:
    """The block's result, token by token in float64."""
    held = {name: p.detach().numpy().astype(np.float64) for name, p in block.named_parameters()}
    y = np.zeros(x.shape)
    for place in np.ndindex(x.shape[:2]):
        own = x[place].astype(np.float64)
        logits = held["gate.weight"] @ own
        share = np.exp(logits - logits.max())
        share /= share.sum()
        best = np.argsort(-share, kind="stable")[: block.gate.chosen]
        whole = share[best].sum() if block.gate.normalized else 1.0
        for expert in best:
            gate, up, down = (held[f"experts.{n}_proj.weight"][expert] for n in NAMES)
            inner = gate @ own
            part = share[expert] / whole * block.gate.factor
            y[place] += part * (down @ (inner / (1 + np.exp(-inner)) * (up @ own)))
    return y


NAMES = ("gate", "up", "down")


@pytest.mark.parametrize("rows", [1, 3, 4], ids=lambda rows: f"{rows} rows")
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("factor", [1.0, 2.5])
def test_a_block_is_what_numpy_computes_token_by_token(rng, factor, normalized, rows):
    block = block_of(rng, norm_topk_prob=normalized, routed_scaling_factor=factor)
    x = rng.normal(size=(rows, 7, 24)).astype("f4")

    with gn.no_grad():
        y, _, counts = block(gn.from_numpy(x))

    np.testing.assert_allclose(y.numpy(), by_numpy(block, x), rtol=2e-4, atol=2e-4)
    assert counts.sum(1).numpy().tolist() == [7 * 3] * rows


def test_of_equal_scores_the_first_experts_are_taken(rng):
    block = block_of(rng)
    with gn.no_grad():
        block.gate.weight.copy_(gn.zeros((5, 24)))
        routing = block.gate(gn.ones((2, 4, 24)))

    assert routing.expert_btc.numpy().tolist() == [[[0, 1, 2]] * 4] * 2
    np.testing.assert_allclose(routing.share_btc.numpy(), 1 / 3, rtol=1e-6)


def test_a_bias_is_seen_by_the_choice_alone(rng):
    block = block_of(rng, router_bias_rate=0.1)
    with gn.no_grad():
        block.gate.bias.copy_(gn.tensor([0.0, 0.0, 0.0, 9.0, 9.0]))
        routing = block.gate(gn.from_numpy(rng.normal(size=(1, 6, 24)).astype("f4")))

    assert set(routing.expert_btc.numpy()[..., :2].ravel()) == {3, 4}
    shares = np.take_along_axis(routing.share_bte.numpy(), routing.expert_btc.numpy(), -1)
    wanted = shares / shares.sum(-1, keepdims=True)
    np.testing.assert_allclose(routing.share_btc.numpy(), wanted, rtol=1e-6)


def test_an_even_load_has_as_much_loss_as_a_token_has_experts_and_rows_are_alone(rng):
    block = block_of(rng)
    x = gn.from_numpy(rng.normal(size=(4, 6, 24)).astype("f4"))
    with gn.no_grad():
        routing = block.gate(x)
        whole = routing.uneven(routing.counts()).numpy()
        even = block.gate(gn.zeros((1, 6, 24)))
        alone = [block.gate(x[k : k + 1]) for k in range(4)]
        flat = even.uneven(gn.full((1, 5), 6 * 3 / 5)).item()

    assert [r.uneven(r.counts()).numpy().tobytes() for r in alone] == [v.tobytes() for v in whole]
    assert flat == pytest.approx(3.0, rel=1e-6)


def test_compiled_routing_has_the_bits_of_eager_and_one_program_serves_all_routings(rng):
    block = block_of(rng)
    compiled = gn.compile(lambda x: block(x)[0])
    with gn.no_grad():
        for number in range(40):
            x = rng.normal(size=(2, 6, 24)).astype("f4")
            x[:, number % 6 :] = x[0, 0]  # up to all tokens go to the same experts
            found, expected = compiled(gn.from_numpy(x)), block(gn.from_numpy(x))[0]
            assert found.numpy().tobytes() == expected.numpy().tobytes()

    assert len(compiled.programs) == 1


def test_biases_move_towards_an_even_load_where_a_step_is_taken():
    model = Qwen3MoeForCausalLM(Qwen3MoeConfig(**SIZES, router_bias_rate=0.5))
    initialize(model, 0)
    counts = gn.tensor([[9, 3, 3, 0, 0], [3, 3, 3, 3, 3]])

    with gn.no_grad():
        model.settle([gn.tensor(1.0), counts], gn.tensor(False))
        before = [layer.mlp.gate.bias.numpy().tolist() for layer in model.model.layers]
        told = model.settle([gn.tensor(1.0), counts], gn.tensor(True))

    assert before == [[0.0] * 5] * 2
    after = [layer.mlp.gate.bias.numpy().tolist() for layer in model.model.layers]
    assert after == [[-0.5, 0.0, 0.0, 0.5, 0.5], [0.0] * 5]
    assert told["expert_load"].item() == 2.0
    assert "rank_slots" not in told


PUBLISHED = {"30b-a3b": 30_532_122_624, "235b-a22b": 235_093_634_560}
"""Parameters that the published models have, by their checkpoints."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_sizes_have_the_published_number_of_parameters(name):
    config = PRESETS[name]

    with gn.device("meta"):
        model = Qwen3MoeForCausalLM(config)
        found = sum(p.numel() for p in model.parameters())

    assert found == config.parameters == PUBLISHED[name]


def test_more_experts_for_a_token_than_there_are_is_refused():
    with pytest.raises(ConfigError, match=r"model.num_experts_per_tok: expected at most"):
        build({"model": {"model_type": "qwen3_moe", "num_experts": 2, "num_experts_per_tok": 3}})
