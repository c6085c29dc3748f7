"""A UNet of diffusers learns to take noise away, with the noise of DDPM's schedule."""

import torch
import torch.nn.functional as F
from diffusers import DDPMScheduler, UNet2DModel
from steps import images, labels, train

model = UNet2DModel(
    sample_size=16,
    in_channels=3,
    out_channels=3,
    layers_per_block=1,
    block_out_channels=(32, 64),
    norm_num_groups=8,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
)
schedule = DDPMScheduler(num_train_timesteps=100)
clean, times = images(2, 16), labels(2, 100)
noise = torch.flip(clean, (0,)) * 0.5
noisy = schedule.add_noise(clean, noise, times)
train(model, lambda step: F.mse_loss(model(noisy, times).sample, noise))
