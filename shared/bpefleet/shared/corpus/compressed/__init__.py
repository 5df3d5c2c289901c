"""Reading compressed files, and the parts of them."""
