"""Five systems built on keyplan: each a design, its rules, its service and its doors."""
