"""DynamoDB's own definitions: values, expressions, PartiQL, request shapes, messages. No I/O, no clock."""
