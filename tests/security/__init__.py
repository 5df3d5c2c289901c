"""What strangers, forgers and accidents can try, against a real Redis and real workers."""
