"""`python -m rrmbench` and the command `rrmbench`."""


def main():
    """Run the command line; the imports are here because child processes import this module again."""
    import gc

    from rrmbench.cli import end_beside_threads, run_app

    gc.set_threshold(50_000, 20, 100)  # with less, Python looks for cycles in thousands of records again and again
    try:
        run_app()
    except SystemExit as end:
        end_beside_threads(end.code)
        raise


if __name__ == "__main__":
    main()
