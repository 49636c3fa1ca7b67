"""Problems: objective and constraints, their text, the canonical form, and the table that joins them with data."""
