"""Suite ``lifecycle``: a fact is taught, recalled, promoted, passed on, corrected, and never invented."""
