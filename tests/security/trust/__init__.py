"""Keys, and what is signed with them."""
