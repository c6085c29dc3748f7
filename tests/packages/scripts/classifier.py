"""A model of timm or torchvision from random weights: python classifier.py PACKAGE NAME."""

import sys

import torch.nn.functional as F
from steps import images, labels, train

package, name = sys.argv[1:3]
size = int(sys.argv[3]) if len(sys.argv) > 3 else 64
if package == "timm":
    import timm

    fixed = {"img_size": size} if name.startswith(("vit", "deit", "swin", "mixer")) else {}
    model = timm.create_model(name, pretrained=False, num_classes=10, **fixed)
else:
    import torchvision

    model = torchvision.models.get_model(name, weights=None, num_classes=10)
x, y = images(4, size), labels(4, 10)
train(model, lambda step: F.cross_entropy(model(x), y))
