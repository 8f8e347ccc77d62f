"""HotPotQA: questions that need two pages of an encyclopedia, asked of one pool of pages."""
