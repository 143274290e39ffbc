"""The long-running process: daemon, schedule, watches, metrics, HTTP, logs, doctor."""
