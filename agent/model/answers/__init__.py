"""What commands answer: a type for each document, of which text, JSON and schemas are made."""
