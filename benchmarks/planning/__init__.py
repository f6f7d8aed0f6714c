"""Plans for large machines: what many ranks would own and send, how long a step would take, and a page on that."""
