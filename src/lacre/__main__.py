"""``python -m lacre`` is the ``lacre`` command."""

from lacre.cli import main

if __name__ == "__main__":
    main()
