"""What the sampler's neighbours keep."""
