"""What a connector claims, tried on a user's own server in a scratch schema: seen, contradicted or not tried."""
