"""The regularized empirical risk problem, and what it is made of."""
