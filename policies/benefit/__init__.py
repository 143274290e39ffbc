"""What a placement is worth: foreground wait, bundles, costs, guards, device speeds."""
