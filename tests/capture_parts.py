"""More parts of the fuzzer's programs: modules, tensors, modes, effects, and where a read stands.

Holders of plain values, and what K, V and W mean, are in tests/capture_programs.py.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.capture_programs import Holder, simple

MODULE = (
    "class MK(nn.Module):\n    scale = V\n    def __init__(self):\n        super().__init__()\n"
    "        self.own = V\n        self.weight = nn.Parameter(gn.full((2,), V))\n"
    "        self.register_buffer('seen', gn.full((2,), V))\n"
    "        self.inside = nn.Sequential(nn.Identity(), nn.Dropout(1.0).eval())\n"
    "        self.kept = [V]\n"
    "    def forward(self, x):\n        BODY\nmK = MK()\n"
)


def module(name: str, body: str, *changes: str) -> Holder:
    """A holder that is a module, which computes something of x."""
    return simple(name, MODULE.replace("BODY", body), "mK(x)", *changes)


HOLDERS = (
    module(
        "a module's attribute", "return x * self.own", "mK.own = W", "mK.forward = lambda x: x * W",
        "MK.forward = lambda self, x: x * W", "mK.__dict__['own'] = W", "MK.own = W",
        "mK.__class__ = type('NK', (MK,), {'forward': lambda self, x: x * W})",
        "vars(mK).update(own=W)", "MK.__call__ = lambda self, x: x * W",
        "MK.__bases__ = (type('BK', (nn.Module,), {'__call__': lambda self, x: x * W}),)",
        "mK.register_forward_hook(lambda m, i, o: o * W)",
        "mK.register_forward_pre_hook(lambda m, i: (i[0] * W,))",
        "mK = MK(); mK.own = W", "del mK.own; MK.own = W", "mK.__call__ = lambda x: x * W",
    ),
    module("a module's class", "return x * self.scale", "MK.scale = W", "mK.scale = W"),
    module("a module's list", "return x * self.kept[0]", "mK.kept[0] = W", "mK.kept = [W]"),
    module("a module's method", "return self.at(x)\n    def at(self, x): return x * self.own",
           "mK.at = lambda x: x * W", "MK.at = lambda self, x: x * W", "mK.own = W"),
    module("a module's parameter", "return x * self.weight", "mK.weight.data.fill_(W)",
           "mK.weight = nn.Parameter(gn.full((2,), W))", "mK.weight.requires_grad_(False)",
           "mK.weight.data = gn.full((2,), W)", "mK._parameters['weight'] = None; mK.weight = V"),
    module("a module's buffer", "return x * self.seen", "mK.seen.fill_(W)",
           "mK.seen = gn.full((2,), W)", "mK._buffers['seen'] = gn.full((2,), W)"),
    module("a module's mode", "return self.inside(x) * (2.0 if self.training else 1.0)",
           "mK.eval()", "mK.train()", "mK.inside.train()", "mK.training = False",
           "mK.inside[1].p = 0.0; mK.inside.train()", "mK.inside[0] = nn.Tanh()",
           "mK.inside.append(nn.Tanh())", "mK.inside[0].forward = lambda x: x * W",
           "mK.inside[0].register_forward_hook(lambda m, i, o: o * W)",
           "del mK.inside[0]", "mK.inside.__dict__['training'] = True"),
    module("a module's attribute by a name made up", "return x * getattr(self, 'o' + nK)",
           "mK.own = W").__class__(
        "a module's attribute by a name made up",
        MODULE.replace("BODY", "return x * getattr(self, 'o' + nK)") + "nK = 'wn'\n", "mK(x)",
        ("mK.own = W", "mK.scale = W")),
    module("what a hook does", "return x * self.own",
           "hK = mK.register_forward_hook(lambda m, i, o: o * W)",
           "hK = mK.register_forward_hook(lambda m, i, o: o * W); hK.remove()",
           "mK._forward_hooks.clear(); mK.register_forward_hook(lambda m, i, o: o + W)"),
    simple("a module of ours", "lK = nn.Linear(2, 2, bias=False)\nlK.weight.data.fill_(V)\n",
           "lK(x)",
           "lK.forward = lambda x: x * W", "lK.register_forward_hook(lambda m, i, o: o * W)",
           "nn.Linear.forward = lambda self, x: x * W", "lK.weight.data.fill_(W)",
           "lK._forward_hooks.clear()", undo="nn.Linear.forward = LINEAR"),
    simple("a function of ours", "", "gn.tanh(x)",
           "gn.tanh = lambda x: x * W", undo="gn.tanh = TANH"),
    simple("what a layer of ours calls",
           "eK = nn.TransformerEncoderLayer(2, 1, 2, 0.0, lambda x: x * cK, batch_first=True)\n"
           "cK = V\n", "eK(x.reshape(1, 1, 2)).reshape(2)", "cK = W", "eK.activation = gn.tanh",
           "eK.activation = lambda x: x * W", "eK.norm_first = True"),
    simple("what a layer of ours knows by name",
           "eK = nn.TransformerEncoderLayer(2, 1, 2, 0.0, gn.tanh, batch_first=True)\n",
           "eK(x.reshape(1, 1, 2)).reshape(2)", "eK.activation = gn.sin",
           "eK.activation = lambda x: x * W"),
    simple("averages by a rule", "lK = nn.Linear(2, 2, bias=False)\nlK.weight.data.fill_(V)\n"
           "aK = optim.swa_utils.AveragedModel(lK, avg_fn=lambda a, b, n: a * cK + b)\ncK = V\n"
           "aK.update_parameters(lK)\n", "(aK.update_parameters(lK), aK(x))[1]", "cK = W",
           "aK.avg_fn = lambda a, b, n: b * W", "lK.weight.data.fill_(W)"),
    simple("a loss of ours", "lK = nn.SmoothL1Loss(beta=V)\n", "lK(x, gn.zeros(2))",
           "lK.beta = W", "lK.reduction = 'sum'", "lK.forward = lambda a, b: a.sum() * W"),
    simple("a layer's number", "lK = nn.LayerNorm(2, eps=V)\n", "lK(x)", "lK.eps = W",
           "lK.bias = None", "lK.elementwise_affine = False"),
    simple("a distribution", "dK = gn.distributions.Normal(V, 1.0)\n", "dK.log_prob(x.detach())",
           "dK.loc = W", "dK.loc = gn.tensor(W)", "dK.scale = W",
           "dK = gn.distributions.Normal(W, 1.0)", "dK.log_prob = lambda x: x * W"),
    simple("a distribution of a user's", "class DK(gn.distributions.Normal):\n"
           "    def log_prob(self, x): return super().log_prob(x) * self.own\n"
           "dK = DK(V, 1.0); dK.own = V\n", "dK.log_prob(x.detach())", "dK.own = W", "dK.loc = W",
           "DK.log_prob = lambda self, x: x * W"),
    simple("a compiled function", "cK = V\nfK = gn.compile(lambda x: x * cK)\n", "fK(x)", "cK = W",
           "fK = gn.compile(lambda x: x * W)"),
    simple("a compiled module", MODULE.replace("BODY", "return x * self.own")
           + "fK = gn.compile(mK)\n", "fK(x)", "mK.own = W",
           "mK.forward = lambda x: x * W"),
    simple("a function over samples", "cK = V\nfK = gn.vmap(lambda x: x * cK)\n", "fK(x)",
           "cK = W"),
    simple("a parametrization", "class PK(nn.Module):\n    own = V\n    def forward(self, w):"
           " return w * self.own\nlK = nn.Linear(2, 2, bias=False); lK.weight.data.fill_(V)\n"
           "nn.utils.parametrize.register_parametrization(lK, 'weight', PK())\n", "lK(x)",
           "PK.own = W", "lK.parametrizations.weight[0].own = W",
           "PK.forward = lambda self, w: w * W"),
    simple("a model of ours", "from gnomon.models.decoder import MLP\n"
           "class OK:\n    hidden_size = intermediate_size = 2\n"
           "    mlp_bias, hidden_act, gated = False, 'silu', True\n"
           "mK = MLP(OK)\n", "mK(x)", "mK.forward = lambda x: x * W",
           "MLP.forward = lambda self, x: x * W", "mK.up_proj = nn.Identity()",
           "mK.down_proj.forward = lambda x: x * W", undo="MLP.forward = GATED"),
    simple("rates of an optimizer", "pK = gn.full((2,), V, requires_grad=True)\n"
           "oK = optim.SGD([pK], lr=0.25, momentum=0.5)\ndef learnK(x):\n    oK.zero_grad()\n"
           "    (pK * x.detach()).sum().backward()\n    oK.step()\n    return pK.detach() * 1\n",
           "learnK(x)", "oK.param_groups[0]['lr'] = W", "oK.param_groups[0]['momentum'] = 0.0",
           "oK.param_groups[0]['weight_decay'] = W", "pK.data.fill_(W)", "oK.state.clear()",
           "oK.state[pK]['momentum_buffer'] = gn.full((2,), W)", "oK.state[pK] = {}",
           "oK.step = lambda: None"),
    simple("a schedule", "pK = gn.full((2,), V, requires_grad=True)\n"
           "oK = optim.SGD([pK], lr=0.25)\ncK = 0.5\n"
           "sK = optim.lr_scheduler.LambdaLR(oK, lambda k: cK ** k)\ndef learnK(x):\n"
           "    oK.zero_grad()\n    (pK * x.detach()).sum().backward()\n    oK.step(); sK.step()\n"
           "    return pK.detach() * 1\n",
           "learnK(x)", "cK = W", "sK.lr_lambdas[0] = lambda k: W", "oK.param_groups[0]['lr'] = W"),
    simple("an error", "eK = Box(); eK.on = False\ndef mayK(x):\n"
           "    if eK.on: raise ValueError('turn K')\n    return V\n", "mayK(x)", "eK.on = True",
           "eK.on = False"),
    # tensors
    simple("a tuple that is replaced", "class BK: pass\nbK = BK()\n"
           "bK.s = (gn.full((2,), V), gn.zeros(2))\ndef turnK(x):\n"
           "    bK.s = (bK.s[0] * 0.5 + x.detach(), x.detach() * 2)\n    return bK.s[0] * 1\n",
           "turnK(x)", "bK.s = (gn.full((2,), W), gn.zeros(2))", "bK.s = (gn.full((2,), W),)"),
    simple("a tensor", "tK = gn.full((2,), V)\n", "tK", "tK.fill_(W)", "tK = gn.full((2,), W)",
           "tK.requires_grad_()", "tK.data = gn.full((2,), W)", "tK = gn.full((1,), W)",
           "tK = gn.full((2,), W, dtype=gn.float64)"),
    simple("tensors in a list", "lK = [gn.full((2,), V), gn.full((2,), V)]\n", "lK[1]",
           "lK[1] = gn.full((2,), W)", "lK[1].fill_(W)", "lK.pop(0); lK.append(lK[0] + 1)"),
    simple("tensors in a long list", "lK = [gn.full((2,), V) for _ in range(100)]\n", "lK[80]",
           "lK[80] = gn.full((2,), W)", "lK[80].fill_(W)", "lK.insert(0, lK[80] + W)"),
    simple("tensors in a dictionary of lists", "dK = {'a': [gn.full((2,), V)]}\n", "dK['a'][0]",
           "dK['a'][0] = gn.full((2,), W)", "dK['a'] = [gn.full((2,), W)]"),
    simple("a tensor that is kept", "class CK: pass\noK = CK(); oK.seen = gn.full((2,), V)\n"
           "def keepK(x):\n    oK.seen = oK.seen * 0.5 + x.detach()\n    return oK.seen\n",
           "keepK(x)", "oK.seen = gn.full((2,), W)", "oK.seen = gn.full((1,), W)"),
    simple("a tensor's own attribute", "pK = nn.Parameter(gn.full((2,), V)); pK.tag = V\n",
           "pK * pK.tag", "pK.tag = W"),
    simple("a tensor's gradient", "pK = gn.full((2,), V, requires_grad=True)\n",
           "(x if pK.grad is None else x * 2.0)", "pK.grad = gn.ones(2)", "pK.grad = None"),
    # modes
    simple("a dtype by default", "", "gn.zeros(2) + gn.full((2,), V)",
           "gn.set_default_dtype(gn.float64)", undo="gn.set_default_dtype(gn.float32)"),
    simple("a mode that is asked for", "", "(2.0 if gn.is_grad_enabled() else V)",
           "MODES.append('no_grad')"),
    simple("a product", "eK = gn.eye(2) * 1.2345678\n", "eK @ x", "MODES.append('autocast')",
           "MODES.append('no_grad')", "MODES.append('inference')"),
    simple("numbers of ours", "", "gn.rand(2)", "gn.manual_seed(7)"),
    simple("a generator of ours", "rK = gn.Generator(); rK.manual_seed(3)\n",
           "gn.rand(2, generator=rK)", "rK.manual_seed(9)", "rK = gn.Generator()"),
)  # fmt: skip
"""Places whose value is a tensor, or that change what operations do."""


class Effect(NamedTuple):
    """What a function does beside its result; `seen` is what others can see of it."""

    name: str
    setup: str
    do: str
    seen: str


EFFECTS = (
    Effect("a line", "", "print('turn', K)", "[]"),
    Effect("a line of a file", "fK = __import__('io').StringIO()\n", "fK.write('x')",
           "fK.getvalue()"),
    Effect("a log", "lK = []\n", "lK.append('seen')", "lK"),
    Effect("a count", "cK = {'n': 0}\n", "cK['n'] += 1", "cK"),
    Effect("an entry", "cK = {'n': 0}\n", "cK['n'] = 5", "cK"),
    Effect("an attribute", "oK = Box(); oK.n = 0\n", "oK.n = 5", "oK.n"),
    Effect("an attribute by name", "oK = Box(); oK.n = 0\n", "setattr(oK, 'n', oK.n + 1)", "oK.n"),
    Effect("an attribute that is new", "oK = Box()\n", "oK.n = getattr(oK, 'n', 0) + 1", "oK.n"),
    Effect("an attribute that goes", "oK = Box(); oK.n = 1\n", "vars(oK).pop('n', None)",
           "vars(oK)"),
    Effect("an attribute of a class", "class CK: n = 0\n", "CK.n += 1", "CK.n"),
    Effect("a global", "def upK():\n    global nK\n    nK = 5\nnK = 0\n", "upK()", "nK"),
    Effect("an environment", "", "os.environ.__setitem__('GNOMON_TEST_K', str(V))",
           "os.environ.pop('GNOMON_TEST_K', None)"),
    Effect("a part of a numpy array", "aK = np.zeros(3)\n", "aK.__setitem__(0, aK[0] + 1)",
           "aK.tolist()"),
    Effect("a set", "sK = set()\n", "sK.add(len(sK))", "sorted(sK)"),
    Effect("a deque", "qK = collections.deque()\n", "qK.append(1)", "list(qK)"),
    Effect("a heap", "hK = []\n", "__import__('heapq').heappush(hK, 1)", "hK"),
    Effect("a scope", "lK = []\n@contextlib.contextmanager\ndef inK():\n    lK.append('in')\n"
           "    try: yield\n    finally: lK.append('out')\ndef doK():\n    with inK(): pass\n",
           "doK()", "lK"),
    Effect("a function that is given", "lK = []\n", "list(map(lK.append, [1, 2]))", "lK"),
    Effect("lines by map", "", "list(map(print, ['turn K']))", "[]"),
    Effect("lines by partial", "sayK = functools.partial(print, 'turn K')\n", "sayK()", "[]"),
    Effect("sys.stdout", "", "sys.stdout.write('turn K')", "[]"),
    Effect("a tensor in a list", "lK = []\n", "lK.append(x.detach() * 2)",
           "[t.tolist() for t in lK]"),
    Effect("a tensor in a dictionary", "dK = {}\n", "put(dK, 'a', x.detach() * 2)",
           "{k: t.tolist() for k, t in dK.items()}"),
    Effect("a tensor in an attribute", "oK = Box()\n", "setattr(oK, 't', x.detach() * 2)",
           "oK.t.tolist()"),
    Effect("a write", "tK = gn.zeros(2)\n", "tK.add_(x.detach())", "tK.tolist()"),
    Effect("a write by number", "tK = gn.zeros(2)\n", "tK.__setitem__(0, x.detach()[1])",
           "tK.tolist()"),
    Effect("a gradient", "pK = gn.ones(2, requires_grad=True)\n",
           "(pK * x.detach()).sum().backward()",
           "pK.grad.tolist()"),
    Effect("a gradient's hook", "lK = []\npK = gn.ones(2, requires_grad=True)\n"
           "pK.register_hook(lambda g: lK.append('told'))\n",
           "(pK * x.detach()).sum().backward()", "(lK, pK.grad.tolist())"),
    Effect("a hook inside", "lK = []\npK = gn.ones(2, requires_grad=True)\ndef doK(x):\n"
           "    y = pK * x\n    y.register_hook(lambda g: lK.append('told'))\n"
           "    y.sum().backward()\n", "doK(x.detach())", "(lK, pK.grad.tolist())"),
    Effect("a loss in an attribute", "oK = Box()\npK = gn.ones(2, requires_grad=True)\n",
           "setattr(oK, 'loss', (pK * x.detach()).sum())",
           "[oK.loss.backward(retain_graph=True) for _ in range(2)] and pK.grad.tolist()"),
    Effect("a module's count", "class MK(nn.Module):\n    n = 0\n    def forward(self, x):\n"
           "        self.n += 1\n        return x\nmK = MK()\n", "mK(x)", "mK.n"),
    Effect("a warning", "", "__import__('warnings').warn('turn K', RuntimeWarning)", "[]"),
    Effect("a log's line",
           "import logging\nlogK = logging.getLogger('gK'); logK.propagate = False\n"
           "logK.handlers[:] = [logging.StreamHandler(sys.stdout)]\n", "logK.error('turn K')",
           "[]"),
    Effect("an error now and then", "lK = []\ndef failK():\n    lK.append(1)\n"
           "    if len(lK) % 3 == 1: raise ValueError('turn K')\n", "failK()", "lK"),
    Effect("an error after a tensor", "nK = [0]\noK = Box()\ndef failK(x):\n"
           "    global gK\n    oK.t = gK = x.detach() * 2\n    oK.pair = (oK.t, x.detach() + 1)\n"
           "    nK[0] += 1\n    if nK[0] % 2: raise KeyError('turn K')\n", "failK(x)",
           "[t.tolist() for t in (oK.t, gK, *oK.pair)]"),
    Effect("an error after a write", "nK = [0]\ntK = gn.zeros(2)\ndef failK(x):\n"
           "    tK.add_(x.detach())\n    nK[0] += 1\n"
           "    if nK[0] % 2: raise KeyError('turn K')\n", "failK(x)", "tK.tolist()"),
)  # fmt: skip

READERS = {
    "step": ("", "({read})"),
    "function": ("def readK(x): return {read}\n", "readK(x)"),
    "lambda": ("readK = lambda x: {read}\n", "readK(x)"),
    "nested": ("def readK(x):\n    def inner(): return {read}\n    return inner()\n", "readK(x)"),
    "method": ("class RK:\n    def read(self, x): return {read}\nrK = RK()\n", "rK.read(x)"),
    "call": ("class RK:\n    def __call__(self, x): return {read}\nrK = RK()\n", "rK(x)"),
    "local object": ("class RK:\n    def read(self, x): return {read}\n", "RK().read(x)"),
    "property": ("class RK:\n    @property\n    def read(self): return {read}\nrK = RK()\n",
                 "rK.read"),
    "turns": ("def readK(x): return sum(number({read}) for _ in range(2))\n", "readK(x)"),
    "list": ("def readK(x): return [{read} for _ in range(2)][1]\n", "readK(x)"),
    "partial": ("def readK(x): return {read}\npartK = functools.partial(readK)\n", "partK(x)"),
    "map": ("def readK(x): return {read}\n", "next(map(readK, [x]))"),
    "sorted": ("def readK(x): return {read}\n", "min([readK], key=id)(x)"),
    "module": ("class RK(nn.Module):\n    def forward(self, x): return {read}\nrK = RK()\n",
               "rK(x)"),
    "part": ("class RK(nn.Module):\n    def forward(self, x): return x * number({read})\n"
             "rK = nn.Sequential(nn.Identity(), RK())\n", "rK(x)"),
    "hook": ("rK = nn.Identity()\nrK.register_forward_hook(lambda m, i, o: o * number({read}))\n",
             "rK(x)"),
    "decorated": ("def onceK(f):\n    @functools.wraps(f)\n    def run(x): return f(x)\n"
                  "    return run\n@onceK\ndef readK(x): return {read}\n", "readK(x)"),
    "table": ("def readK(x): return {read}\ntableK = {{'a': [readK]}}\n", "tableK['a'][0](x)"),
    "class": ("class RK:\n    @classmethod\n    def read(cls, x): return {read}\n", "RK.read(x)"),
    "attempt": ("def readK(x):\n    try: return {read}\n    except KeyError: return 0.25\n",
                "readK(x)"),
    "no gradient": ("@gn.no_grad()\ndef readK(x): return {read}\n", "readK(x)"),
    "gradient's hook": ("def readK(x):\n    v = gn.ones(2, requires_grad=True)\n"
                        "    v.register_hook(lambda g: g * number({read}))\n"
                        "    v.sum().backward()\n"
                        "    return v.grad\n", "readK(x)"),
    "Function": ("class RK(gn.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): "
                 "return x * number({read})\n    @staticmethod\n"
                 "    def backward(ctx, g): return g * 2\n",
                 "RK.apply(x)"),
    "generator": ("def eachK(x):\n    yield {read}\n", "[*eachK(x)][0]"),
}  # fmt: skip
"""In whose code a read stands: what is defined, and the expression."""
