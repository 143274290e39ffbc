"""A server for Oracle's TNS and TTC protocols, as far as thin drivers use them: an emulated server."""
