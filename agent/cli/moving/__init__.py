"""Commands about the daemon and its running moves: run, status, pause, resume, cancel."""
