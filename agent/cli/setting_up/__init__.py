"""Commands for the first day: init, doctor, demo."""
