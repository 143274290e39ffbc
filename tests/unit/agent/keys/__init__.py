"""Signed approvals: document and signatures."""
