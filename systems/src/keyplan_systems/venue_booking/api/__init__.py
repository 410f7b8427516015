"""The API of venue booking: GraphQL for people's programs, a few addresses beside it for monitors and calendars."""
