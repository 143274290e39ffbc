"""What agents have measured, by interval; a file keeps it while a server is away."""
