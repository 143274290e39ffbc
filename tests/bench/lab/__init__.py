"""The slow-disk laboratory: hotplace itself on a real PostgreSQL with modelled disks. README.md has the map."""
