"""Signed approvals: the document that a person signs, and the check of the signature by OpenSSH.

No cryptography of ours: ``ssh-keygen -Y sign`` and ``-Y verify`` do all of it.
"""

from agent.keys.document import (
    NAMESPACE,
    RULE_NAMESPACE,
    ApprovalDocument,
    ApprovalList,
    ListedApproval,
    RuleDocument,
    Signable,
)
from agent.keys.signers import Signature, SignatureInvalid, Signers

__all__ = [
    "NAMESPACE",
    "RULE_NAMESPACE",
    "ApprovalDocument",
    "ApprovalList",
    "ListedApproval",
    "RuleDocument",
    "Signable",
    "Signature",
    "SignatureInvalid",
    "Signers",
]
