"""What DynamoDB itself defines, without storage, clock or network: values, expressions, PartiQL, shapes, messages."""
