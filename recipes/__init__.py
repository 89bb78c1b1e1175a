"""How the bundled models are made: text is fetched by package name, cleaned, and trained on."""
