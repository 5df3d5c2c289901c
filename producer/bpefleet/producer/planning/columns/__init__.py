"""The files and the chunks of a plan, a million in little memory, and how they are written."""
