"""The rules that split text into pre-tokens, and the engines that can hold them."""
