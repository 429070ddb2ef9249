"""tracekit within people's own code: a handler for ``on_trace_ready``, and a plugin for pytest.

Nothing is imported here: every run of pytest loads the plugin, and with it this.
"""
