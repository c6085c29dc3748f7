"""autograd.graph: nodes behind tensors, edges, hooks of several tensors, saved tensors written."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.autograd import graph
from gnomon.errors import ArgumentError, GradientError


def leaf(*values: float) -> gn.Tensor:
    return gn.tensor(list(values), requires_grad=True)


def test_nodes_lead_from_a_result_to_the_leaves():
    x, y = leaf(1.0, 2.0), gn.ones(2)
    z = (x * y).exp()

    assert isinstance(z.grad_fn, graph.Node)
    assert (z.grad_fn.name(), type(z.grad_fn).__name__) == ("ExpBackward0", "ExpBackward0")
    ((product, place),) = z.grad_fn.next_functions
    assert (product.name(), place) == ("MulBackward0", 0)
    (first, _), second = product.next_functions
    assert first.variable is x
    assert first.next_functions == ()
    assert second == (None, 0)
    assert z.grad_fn is z.grad_fn
    assert x.grad_fn is None


def test_a_view_of_all_of_a_leaf_leads_to_the_leaf():
    x = leaf(1.0, 2.0)

    assert x.expand_as(x).grad_fn.next_functions[0][0].variable is x


def test_hooks_of_nodes_see_gradients_and_change_them():
    x, seen = leaf(3.0), []
    y = x * x
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 2,))
    node = y.grad_fn.next_functions[0][0]
    handle = node.register_hook(lambda given, gs: seen.append((given, gs[0].item(), x.grad.item())))

    y.backward()
    handle.remove()
    (x * x).backward()

    assert seen == [((), 12.0, 12.0)]
    assert x.grad.item() == 18.0
    with pytest.raises(GradientError, match="register_hook: <MulBackward> has no gradients"):
        y.grad_fn.register_hook(lambda given, gs: None)


def test_the_node_of_a_leaf_that_is_gone_says_so():
    x = leaf(1.0)
    node = (x * 2).grad_fn.next_functions[0][0]
    del x

    with pytest.raises(GradientError, match="its leaf is gone"):
        _ = node.variable


def test_edges_stand_for_tensors_in_backward_passes():
    x = leaf(1.0, 2.0)
    y = x * 3
    edge = graph.get_gradient_edge(y)
    (found,) = gn.autograd.grad((y * y).sum(), edge)
    (below,) = gn.autograd.grad(edge, [graph.get_gradient_edge(x)], gn.ones(2))
    gn.autograd.backward([edge], [gn.ones(2)])

    assert found.tolist() == [6.0, 12.0]
    assert below.tolist() == x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(GradientError, match="does not require gradients"):
        graph.get_gradient_edge(gn.ones(2))


def test_a_hook_of_several_tensors_waits_for_those_that_a_pass_reaches():
    a, b, seen = leaf(2.0), leaf(3.0), []
    c, d = a * b, a + b
    tensors = (a, b, c, d)
    handle = graph.register_multi_grad_hook(
        tensors, lambda gs: seen.append([None if g is None else g.item() for g in gs])
    )

    c.backward(retain_graph=True)
    c.backward(inputs=[a], retain_graph=True)
    (c * d).backward(retain_graph=True)
    handle.remove()
    c.backward()

    assert seen == [[3.0, 2.0, 1.0, None], [3.0, None, 1.0, None], [21.0, 16.0, 5.0, 6.0]]


def test_the_first_gradient_of_several_is_seen_alone_and_once_per_pass():
    a, seen = leaf(2.0), []
    b, c = a * 3, a * 4
    with graph.register_multi_grad_hook((b, c), lambda g: seen.append(g.item()), mode="any"):
        for _ in range(2):
            (b * 5 + c * 5).backward(retain_graph=True)

    assert seen == [5.0, 5.0]
    with pytest.raises(ArgumentError, match="mode is 'all' or 'any'"):
        graph.register_multi_grad_hook((a,), print, mode="first")


def test_what_gradients_read_may_be_written_over_where_that_is_allowed():
    x = leaf(3.0, 4.0)
    with graph.allow_mutation_on_saved_tensors() as kept:
        y = x.clone()
        z = y * y
        y.sin_()
        (z + y.exp()).sum()
        y.zero_()
        kept.clear()
        z.sum().backward()

    assert x.grad.tolist() == [6.0, 8.0]
    y = x * 1
    z = y * y
    y.zero_()
    with pytest.raises(GradientError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_tensor_that_was_written_to_unseen_is_refused():
    x = leaf(3.0)
    y = x * 2
    for tensor in (x, y):
        z = tensor * tensor
        graph.increment_version([tensor])
        with pytest.raises(GradientError, match="modified by an inplace operation"):
            z.backward()


def test_a_compiled_function_opens_no_block_of_hooks():
    def inside(x):
        with graph.save_on_cpu():
            return x * x

    with pytest.raises(gn.errors.TraceError, match="Open the block around the call"):
        gn.compile(inside, fullgraph=True)(leaf(1.0))


def test_a_walk_over_next_functions_ends_at_the_leaf():
    x = gn.linspace(0, 3, 5).requires_grad_()
    x.numpy(force=True)  # from now on numpy has its memory too
    y = 2 * x.sin() + 1
    names, node = [], y.grad_fn
    while node.next_functions:
        names.append(node.name())
        node = node.next_functions[0][0]

    assert names == ["AddBackward0", "MulBackward0", "SinBackward0"]
    assert node.variable is x
    assert y.grad_fn.next_functions[0][0].next_functions[1] == (None, 0)


def test_a_node_has_what_gradients_save_by_pytorchs_names():
    x = gn.tensor([1.0, 2.0], requires_grad=True)
    y, e = x * 3, x.exp()

    assert y.grad_fn._saved_self is x
    assert y.grad_fn._saved_other.item() == 3
    assert e.grad_fn._saved_result.equal(e)
    assert (y * e).grad_fn._saved_self.equal(y)
    with pytest.raises(AttributeError, match="'ExpBackward0' object has no attribute '_saved_us'"):
        _ = e.grad_fn._saved_us


def test_a_tensor_that_went_backward_has_its_operations_name():
    x = gn.ones(2, requires_grad=True)
    loss = (x * 3).sum()
    loss.backward()
    gn.evaluate(loss)

    assert repr(loss) == "Tensor(6., grad_fn=<SumBackward>)"
    assert loss.item() == 6
    assert repr(loss) == "Tensor(6., grad_fn=<SumBackward>)"
