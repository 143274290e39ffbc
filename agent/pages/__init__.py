"""Pages for people: the report, the live page over HTTP, and plots."""
