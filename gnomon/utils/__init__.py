"""torch.utils' place: data loading."""
