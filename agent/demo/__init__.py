"""The main job on a private PostgreSQL, from an empty folder to a measured outcome."""
