"""What commands answer, as frozen types: one for each document that ``--json`` prints and ``/api/v1`` serves."""
