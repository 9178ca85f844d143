/** Characters that a password has at least; the platform says no to less. */
export const SHORTEST = 8
