"""Reports: tables and sections, as text, Markdown, HTML or CSV. They know nothing of what they show."""
