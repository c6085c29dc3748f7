"""How ranks exchange arrays: what every backend answers, and ranks as threads of one process."""
