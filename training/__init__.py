"""How the embedded draft was made: sample text, distil, evaluate (see README.md). The app never imports this."""
