"""The operations of DynamoDB: handlers from a request to its response."""
