"""The estimators, one engine a file."""
