"""The edge: other people's models, files and examples, copied and checked once, become bnpriv's own values."""
