"""Devices and processes that train one model together."""
