// Nothing to call: see idle_dispatch.c.
