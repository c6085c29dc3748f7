"""Communication between ranks: what every backend answers, and ranks as threads of one process."""
