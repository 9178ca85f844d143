/** The mark: a small closed world with water in it. */
export function Logo({ size = 22 }: { size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 32 32"
      aria-hidden="true"
      style={{ color: 'var(--accent)', flex: 'none' }}
    >
      <circle cx="16" cy="16" r="13.5" fill="none" stroke="currentColor" strokeWidth="2.5" />
      <path d="M5 18c3.7-2.6 7.3-2.6 11 0s7.3 2.6 11 0a11.2 11.2 0 0 1-22 0z" fill="currentColor" />
      <circle cx="12.5" cy="11.5" r="1.8" fill="currentColor" />
      <circle cx="19" cy="8.8" r="1.3" fill="currentColor" />
    </svg>
  )
}
