"""Plans for large machines: data that many ranks would own and send, predicted step times, and a page about both."""
