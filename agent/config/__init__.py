"""The configuration: one YAML file, validated as a whole, every mistake reported at once with its path and line.

Read in this order: ``errors``, ``quantities``, ``tiers``, ``policy``, ``spaces``, ``models``, ``document``,
``mistakes``, ``checks``, ``files``, ``sample``.
"""

from agent.config.errors import ConfigError, ForeignConfig, NothingToSize, Problem
from agent.config.files import find_config, load, parse, read_config
from agent.config.models import MOST_TOP_UNITS, STALE_SAMPLES, ApprovalMode, Config, DatabaseConfig, Level, PinConfig
from agent.config.sample import sample
from agent.config.spaces import Storage
from agent.config.tiers import TierConfig

__all__ = [
    "MOST_TOP_UNITS",
    "STALE_SAMPLES",
    "ApprovalMode",
    "Config",
    "ConfigError",
    "DatabaseConfig",
    "ForeignConfig",
    "Level",
    "NothingToSize",
    "PinConfig",
    "Problem",
    "Storage",
    "TierConfig",
    "find_config",
    "load",
    "parse",
    "read_config",
    "sample",
]
