"""Published tables and claims of the papers as data, and the recipes behind them."""
