"""A model of vit-pytorch from random weights: python vit_pytorch_model.py NAME."""

import sys

import torch.nn.functional as F
from steps import images, labels, train

NAME = sys.argv[1]
COMMON = {"image_size": 32, "patch_size": 8, "num_classes": 10, "dim": 32, "depth": 2, "heads": 2}
if NAME == "ViT":
    from vit_pytorch import ViT

    model = ViT(**COMMON, mlp_dim=64)
elif NAME == "SimpleViT":
    from vit_pytorch import SimpleViT

    model = SimpleViT(**COMMON, mlp_dim=64)
elif NAME == "CaiT":
    from vit_pytorch.cait import CaiT

    model = CaiT(**COMMON, cls_depth=1, mlp_dim=64)
elif NAME == "DeepViT":
    from vit_pytorch.deepvit import DeepViT

    model = DeepViT(**COMMON, mlp_dim=64)
else:
    from vit_pytorch.cct import CCT

    model = CCT(
        img_size=32,
        embedding_dim=32,
        n_conv_layers=1,
        num_layers=2,
        num_heads=2,
        mlp_ratio=2.0,
        num_classes=10,
        positional_embedding="learnable",
        stochastic_depth_rate=0.0,
        dropout_rate=0.0,
        attention_dropout=0.0,
    )
x, y = images(4, 32), labels(4, 10)
train(model, lambda step: F.cross_entropy(model(x), y))
