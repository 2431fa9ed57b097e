"""Numbers that today's code gives, recorded so that later code can be compared with them."""
