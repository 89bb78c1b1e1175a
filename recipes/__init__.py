"""How the shipped models were made: text fetched by package name, cleaned, and trained on."""
