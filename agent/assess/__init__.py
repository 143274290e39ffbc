"""From files that a DBA has to what sessions wait for and what fast storage would bring; asks no database."""

from agent.assess.assessing import Assessment, Offer, SpaceWaits, UnitWaits, assess
from agent.assess.document import assessment_shown

__all__ = ["Assessment", "Offer", "SpaceWaits", "UnitWaits", "assess", "assessment_shown"]
