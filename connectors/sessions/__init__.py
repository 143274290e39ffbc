"""What sessions of all engines share: tries after a broken connection, ends from outside, and leases."""
