"""An index in a PostgreSQL database, with the pgvector extension."""
