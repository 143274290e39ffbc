"""An emulated Oracle Database: dictionary and V$ views from the documentation, a small model of storage behind them."""
