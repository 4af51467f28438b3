"""The scene of a store: who carried an item out without paying, told from RFID reads in doubt."""
