"""The configuration, the doctor and the units of measure, as an administrator meets them."""
