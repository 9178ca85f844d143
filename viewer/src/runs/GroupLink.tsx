import { Link } from '@tanstack/react-router'

/** The group that a run belongs to: everything that one command ran. */
export function GroupLink({ group }: { group: string | null }) {
  if (group === null) return <span className="muted">–</span>
  return (
    <Link to="/" search={{ group: [group] }} data-tip="All runs started by the same command">
      <code>{group}</code>
    </Link>
  )
}
