"""Your own documents and questions, scored with no code."""
