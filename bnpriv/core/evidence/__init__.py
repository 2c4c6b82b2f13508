"""What mechanisms rest on: influences, or the laws of an answer under two secrets."""
