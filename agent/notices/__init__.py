"""Notices: people are told in time, each time with the command to give next.

Read in this order: ``notice`` (what a person is told), ``reasons`` (from what is known to notices), ``outbox`` (what
waits for which channel, and when it is sent), ``wording`` (a message for a channel), ``channels`` (sending),
``notifier`` (all of it, turn by turn).
"""
