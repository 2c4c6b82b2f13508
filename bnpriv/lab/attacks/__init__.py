"""What somebody who sees an answer can guess."""
