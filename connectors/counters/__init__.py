"""What every engine's sampler ends with: counters by what they belong to, and rates from them."""
