"""Who is answered, and how many."""
