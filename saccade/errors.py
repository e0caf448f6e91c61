"""The one exception for a user's mistake: the command line prints its message and exits, without a traceback."""


class UserError(Exception):
    """One line that says what was given, what was expected, and what to type; it names the place (file, line, key)."""

    code = 2  # of the command that ends with it
    elsewhere = False  # True: another worker of the same run says it
