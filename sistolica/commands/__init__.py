"""What each command does, apart from how it is called: functions of a project that print and give an exit status."""
