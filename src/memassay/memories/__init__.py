"""The embedded memories; each is registered as an entry point and loaded only when it is named."""
