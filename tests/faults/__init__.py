"""What dies, stalls, lies or fills up, and that the tokenizer stays the same."""
