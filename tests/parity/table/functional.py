"""Rows for activations, softmaxes, normalizations, dropout at rest and attention."""

from __future__ import annotations

from tests.parity.record import Table, between, booleans, distinct, exactly, normal

TABLE = Table()
add = TABLE.add

SMOOTH = ("elu", "selu", "celu", "gelu", "silu", "mish", "softplus", "softsign", "logsigmoid")
BENT = ("relu", "relu6", "leaky_relu", "hardtanh", "hardswish", "hardshrink")
for name in (*SMOOTH, *BENT, "softshrink", "tanhshrink", "tanh", "sigmoid"):
    add(f"F.{name}", lambda lib, x, name=name: getattr(lib.nn.functional, name)(x), distinct(4, 7))
# torch's slope is 1/6 of a float32 there
add("F.hardsigmoid", lambda lib, x: lib.nn.functional.hardsigmoid(x), distinct(4, 7), slack=1e4)
add("F.gelu by tanh", lambda lib, x: lib.nn.functional.gelu(x, approximate="tanh"), normal(4, 7))
add("F.leaky_relu with a slope", lambda lib, x: lib.nn.functional.leaky_relu(x, 0.2), distinct(9))
add("F.elu with alpha", lambda lib, x: lib.nn.functional.elu(x, alpha=0.5), distinct(9))
add("F.softplus with beta", lambda lib, x: lib.nn.functional.softplus(x, beta=2), normal(9))
add(
    "F.softplus far out",
    lambda lib, x: lib.nn.functional.softplus(x),
    exactly([-60.0, 19.0, 21.0, 60.0]),
)
add(
    "F.prelu",
    lambda lib, x, w: lib.nn.functional.prelu(x, w),
    distinct(2, 3, 4),
    between(0.1, 0.4, 3),
)
add("F.glu", lambda lib, x: lib.nn.functional.glu(x, dim=-1), normal(3, 6))
add("F.relu in place", lambda lib, x: lib.nn.functional.relu(x * 2, inplace=True), distinct(9))
add("relu at zero", lambda lib, x: lib.relu(x), exactly([-1.0, 0.0, 1.0]))
add("abs at zero", lambda lib, x: lib.abs(x), exactly([-1.0, 0.0, 1.0]))

add("softmax", lambda lib, x: lib.softmax(x, dim=-1), normal(3, 5))
add("softmax of the first axis", lambda lib, x: x.softmax(0), normal(4, 3))
add(
    "softmax of the middle axis",
    lambda lib, x: lib.nn.functional.softmax(x, dim=1),
    normal(2, 4, 3),
)
add("softmax far out", lambda lib, x: lib.softmax(x, -1), exactly([[1000.0, 999.0, -1000.0]]))
add(
    "softmax of masked scores",
    lambda lib, x, m: x.masked_fill(m, float("-inf")).softmax(-1),
    normal(3, 5),
    exactly([[0, 1, 1, 0, 0]], "bool"),
)
for infinite in ([float("inf"), 1.0], [-float("inf"), -float("inf")], [-float("inf"), 1.0]):
    add(
        f"softmax and its logarithm of {infinite}",
        lambda lib, x: (lib.softmax(x, -1), lib.log_softmax(x, -1)),
        exactly(infinite),
    )
add("log_softmax", lambda lib, x: lib.nn.functional.log_softmax(x, dim=-1), normal(3, 5))
add("log_softmax of the first axis", lambda lib, x: x.log_softmax(dim=0), normal(4, 3))
add(
    "logsumexp of infinities",
    lambda lib, x: lib.logsumexp(x, 0),
    exactly([-float("inf"), 0.5, 1.0]),
)
add("F.normalize", lambda lib, x: lib.nn.functional.normalize(x, dim=1), normal(3, 5))
add(
    "F.normalize in one norm",
    lambda lib, x: lib.nn.functional.normalize(x, p=1, dim=0),
    distinct(3, 5),
)
add(
    "F.cosine_similarity",
    lambda lib, x, y: lib.nn.functional.cosine_similarity(x, y, dim=-1),
    normal(3, 5),
    normal(3, 5),
)
add(
    "F.cosine_similarity broadcasts",
    lambda lib, x, y: lib.nn.functional.cosine_similarity(x[:, None], y[None], dim=-1),
    normal(3, 5),
    normal(2, 5),
)
add(
    "F.pairwise_distance",
    lambda lib, x, y: lib.nn.functional.pairwise_distance(x, y),
    normal(3, 5),
    normal(3, 5),
)

add(
    "F.layer_norm",
    lambda lib, x, w, b: lib.nn.functional.layer_norm(x, (5,), w, b),
    normal(2, 3, 5),
    normal(5),
    normal(5),
    slack=4.0,
)
add(
    "F.layer_norm of two axes",
    lambda lib, x: lib.nn.functional.layer_norm(x, (3, 5), eps=1e-3),
    normal(2, 3, 5),
    slack=4.0,
)
add(
    "F.rms_norm",
    lambda lib, x, w: lib.nn.functional.rms_norm(x, (5,), w, eps=1e-6),
    normal(2, 3, 5),
    normal(5),
    slack=4.0,
)
add(
    "F.group_norm",
    lambda lib, x, w, b: lib.nn.functional.group_norm(x, 2, w, b),
    normal(2, 6, 3),
    normal(6),
    normal(6),
    slack=4.0,
)
add(
    "F.instance_norm",
    lambda lib, x: lib.nn.functional.instance_norm(x),
    normal(2, 3, 4, 5),
    slack=4.0,
)
add(
    "F.batch_norm in training",
    lambda lib, x, w, b: lib.nn.functional.batch_norm(x, None, None, w, b, training=True),
    *(normal(4, 3, 5), normal(3), normal(3)),
    slack=4.0,
)
add(
    "F.batch_norm at rest",
    lambda lib, x, m, v, w: lib.nn.functional.batch_norm(x, m.detach(), v.detach(), w),
    *(normal(4, 3), normal(3), between(0.5, 2.0, 3), normal(3)),
    slack=4.0,
)
add(
    "F.local_response_norm",
    lambda lib, x: lib.nn.functional.local_response_norm(x, 2),
    normal(2, 5, 3),
)
add(
    "F.dropout at rest", lambda lib, x: lib.nn.functional.dropout(x, 0.5, training=False), normal(4)
)
add("F.dropout of nothing", lambda lib, x: lib.nn.functional.dropout(x, 0.0), normal(4))
add("F.dropout of all", lambda lib, x: lib.nn.functional.dropout(x, 1.0), normal(4))

QKV = (normal(2, 3, 4, 6), normal(2, 3, 5, 6), normal(2, 3, 5, 7))


def attention(lib, *tensors, **options):
    return lib.nn.functional.scaled_dot_product_attention(*tensors, **options)


add("attention", lambda lib, q, k, v: attention(lib, q, k, v), *QKV, slack=4.0)
add(
    "attention, causal",
    lambda lib, q, k, v: attention(lib, q, k, v, is_causal=True),
    normal(2, 3, 5, 6),
    normal(2, 3, 5, 6),
    normal(2, 3, 5, 4),
    slack=4.0,
)
add(
    "attention with a scale",
    lambda lib, q, k, v: attention(lib, q, k, v, scale=0.3),
    *QKV,
    slack=4.0,
)
add(
    "attention with a mask",
    lambda lib, q, k, v, m: attention(lib, q, k, v, attn_mask=m),
    *QKV,
    exactly([[1, 0, 1, 1, 0]], "bool"),
    slack=4.0,
)
add(
    "attention with a bias",
    lambda lib, q, k, v, m: attention(lib, q, k, v, attn_mask=m),
    *QKV,
    normal(4, 5),
    slack=4.0,
)
add(
    "attention with shared keys",
    lambda lib, q, k, v: attention(lib, q, k, v, enable_gqa=True),
    normal(2, 4, 3, 6),
    normal(2, 2, 5, 6),
    normal(2, 2, 5, 6),
    slack=4.0,
)
add(
    "attention by hand",
    lambda lib, q, k, v: (q @ k.transpose(-2, -1) / 6**0.5).softmax(dim=-1) @ v,
    *QKV,
    slack=4.0,
)
add(
    "a mask by where",
    lambda lib, x, m: lib.where(m, x, float("-inf")).amax(-1),
    normal(3, 40),
    booleans(3, 40),
)
for name in ("rrelu", "feature_alpha_dropout", "alpha_dropout"):
    add(f"F.{name}", lambda lib, x, name=name: getattr(lib.nn.functional, name)(x), distinct(4, 7))
for shape in ((5, 3), (1, 3), (0, 3), (4, 1)):
    for norm in (1.0, 2.0, 3.0):
        call = lambda lib, x, p=norm: lib.pdist(x, p)  # noqa: E731
        whole = shape[0] > 1  # without a pair torch's gradient is a fault in its memory
        add(f"pdist of {shape} by {norm}", call, normal(*shape), gradient=whole)
add("F.pdist", lambda lib, x: lib.nn.functional.pdist(x), normal(4, 3))
WEIGHTS = (normal(24, 8), normal(24), normal(8, 8), normal(8))
for keep in (True, False):
    add(
        f"F.multi_head_attention_forward {keep}",
        lambda lib, x, w, b, ow, ob, keep=keep: lib.nn.functional.multi_head_attention_forward(
            *(x, x, x, 8, 2, w, b, None, None, True, 0.0, ow, ob), need_weights=keep
        )[: 1 + keep],
        normal(3, 2, 8),
        *WEIGHTS,
        slack=16.0,
    )
add(
    "F.multi_head_attention_forward of three",
    lambda lib, x, y, q, k, v, b, w: lib.nn.functional.multi_head_attention_forward(
        *(x, y, y, 8, 4, None, b, None, None, False, 0.0, w, None),
        use_separate_proj_weight=True,
        q_proj_weight=q,
        k_proj_weight=k,
        v_proj_weight=v,
    ),
    *(normal(3, 2, 8), normal(5, 2, 6), normal(8, 8), normal(8, 6), normal(8, 6)),
    *(normal(24), normal(8, 8)),
    slack=16.0,
)
