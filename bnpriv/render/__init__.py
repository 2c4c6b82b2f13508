"""Documents as text, pages, Markdown and JSON; nothing here knows the domain."""
