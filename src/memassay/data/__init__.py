"""The catalogue of data sets, how they are fetched, and how a file proves to be what it should be."""
