"""Reading tables: Parquet and Arrow, texts and counts."""
