"""What answers: each agent registers as a plug-in would."""
