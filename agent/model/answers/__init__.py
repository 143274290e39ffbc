"""What commands answer: a type for each document, from which text, JSON and schemas are made."""
