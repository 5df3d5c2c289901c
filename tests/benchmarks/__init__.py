"""What is measured with must be right, too."""
