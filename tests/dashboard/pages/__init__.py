"""What is seen in a browser."""
