"""Who asks, what each route lets them do, and what of the store they see."""
