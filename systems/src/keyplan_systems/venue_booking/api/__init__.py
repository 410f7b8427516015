"""API of venue booking: GraphQL for client programs, plus routes for monitors and calendars."""
