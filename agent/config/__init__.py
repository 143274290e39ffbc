"""The configuration: one YAML file, validated as a whole, every mistake reported at once with its path and line.

Read in this order: ``errors``, ``quantities``, ``tiers``, ``models``, ``mistakes``, ``files``, ``sample``.
"""
