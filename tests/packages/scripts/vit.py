"""Images in classes with ViT of transformers, from random weights."""

from steps import images, labels, train
from transformers import ViTConfig, ViTForImageClassification

config = ViTConfig(
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    image_size=32,
    patch_size=8,
    num_labels=10,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
model = ViTForImageClassification(config)
x, y = images(4, 32), labels(4, 10)
train(model, lambda step: model(pixel_values=x, labels=y).loss)
