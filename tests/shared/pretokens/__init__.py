"""Split rules, and the engines that can hold a user's regex."""
