"""Every door to the platform: parse one request, call, shape the answer."""
