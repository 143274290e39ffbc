"""The support bundle: what others may see of an agent, without what is only for its site."""
