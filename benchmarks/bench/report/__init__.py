"""The report: Markdown with plots."""
