"""solana: discovering instructions of on-chain programs, in the authors' gym or from recorded transactions."""
