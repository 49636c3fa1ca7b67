"""Training: the settings of a fit, which rows train and which are held out, and solving on them."""
