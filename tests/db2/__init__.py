"""The pure parts of the Db2 connector, against numbers worked out by hand."""
