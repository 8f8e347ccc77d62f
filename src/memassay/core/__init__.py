"""What everything stands on: types, contracts, errors, the registry, digests, token counting."""
