"""What designs cost: units of requests, from declared or real sizes, and prices with their date."""
