"""`python -m augury` is the command line."""

from augury.cli.main import main

if __name__ == "__main__":
    main()
