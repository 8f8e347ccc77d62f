"""The run-folder format: locked segments, torn-line repair, the guarded manifest, blobs, the ledger."""
