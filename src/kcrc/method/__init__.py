"""What happens to a query, in the order in which it happens."""
