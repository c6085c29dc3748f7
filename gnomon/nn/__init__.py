"""Modules with PyTorch's names, arguments, first values and state_dict keys."""

from gnomon.nn import functional, init, utils
from gnomon.nn.activations import *  # noqa: F403 - rows of tables
from gnomon.nn.attention import MultiheadAttention
from gnomon.nn.containers import (
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from gnomon.nn.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from gnomon.nn.embedding import Embedding, EmbeddingBag
from gnomon.nn.functional import LinearCrossEntropyOptions
from gnomon.nn.linear import Bilinear, Identity, Linear
from gnomon.nn.linear_cross_entropy import LinearCrossEntropyLoss
from gnomon.nn.module import Module
from gnomon.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    LocalResponseNorm,
    RMSNorm,
)
from gnomon.nn.parameter import Buffer, Parameter
from gnomon.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from gnomon.nn.table_batched import RowOptimizer, TableBatchedEmbeddingBags, TableSpec
from gnomon.nn.transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
