"""Task folders of Harbor and Terminal-Bench: agents work in containers, scripts verify what they did."""
