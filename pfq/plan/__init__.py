"""The neutral plan: what each gateway must do, with no word of any operating system's language in it."""
