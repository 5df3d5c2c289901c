"""Who can reach Redis: users, TLS, planted jobs, workers of others."""
