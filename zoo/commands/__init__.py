"""What all command lines share."""
