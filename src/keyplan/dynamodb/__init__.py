"""What DynamoDB itself defines: values, expressions, PartiQL, request shapes, messages. No I/O, no clock."""
