"""The modes of the ASP Balancer: clear, usage and capacity, preference, drain."""
