"""What samples teach: heat, the picture of a database, looks inside units, and what earlier moves have taught."""
