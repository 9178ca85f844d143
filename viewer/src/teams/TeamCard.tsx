import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import styles from '../parts/panels.module.css'

/** A team in the list. */
export function TeamCard({ team }: { team: Schema<'TeamDocument'> }) {
  return (
    <li className={styles.item}>
      <div className={styles.itemHead}>
        <Link to="/teams/$teamId" params={{ teamId: team.team_id }}>
          <bdi>{team.name}</bdi>
        </Link>
        <Badge>{team.role}</Badge>
      </div>
      <p className={styles.facts}>
        <span className="number">
          {team.member_count} of {team.max_members} members
        </span>
        {team.join_code && (
          <span>
            Join code <code>{team.join_code}</code>
          </span>
        )}
      </p>
    </li>
  )
}
