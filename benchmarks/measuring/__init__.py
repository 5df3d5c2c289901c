"""What a program takes: seconds, processor, memory, round by round."""
