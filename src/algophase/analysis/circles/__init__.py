"""Where the group shows in the operand tables: principal components, circles, what each circle
does.
"""
