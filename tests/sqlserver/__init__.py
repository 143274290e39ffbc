"""The pure parts of the SQL Server connector, with figures worked out by hand."""
