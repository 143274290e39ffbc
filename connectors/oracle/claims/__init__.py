"""What ``hotplace lab prove`` makes, asks and compares on Oracle Database."""
