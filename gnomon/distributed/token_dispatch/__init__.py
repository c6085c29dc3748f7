"""Token dispatch for mixtures of experts: one interface, and a dispatcher for each way to send."""
