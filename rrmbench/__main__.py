"""`python -m rrmbench` and the command `rrmbench`."""


def main():
    """Run the command line; the import is here because child processes import this module again."""
    from rrmbench.cli import run_app

    run_app()


if __name__ == "__main__":
    main()
