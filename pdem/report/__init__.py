"""Reports: tables and sections as text, Markdown, HTML or CSV, independent of their content."""
