"""The API of venue booking: GraphQL for client programs, plus routes for monitoring and calendars."""
