"""The API of venue booking: GraphQL for client programs, plus HTTP routes for health checks and the calendar feed."""
