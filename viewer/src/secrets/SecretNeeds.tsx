import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { documentQuery } from '../api/query'
import { Badge } from '../parts/Badge'
import styles from '../parts/panels.module.css'

interface SecretNeedsProps {
  workspaceId: string
  names: readonly string[]
  /** Whether the user may set secrets; only those learn what is missing. */
  works: boolean
}

/** The secrets that runs need, and which of them have no value. */
export function SecretNeeds({ workspaceId, names, works }: SecretNeedsProps) {
  const missing = useMissingSecrets(workspaceId, works ? names : [])
  return (
    <ul className={styles.rows} aria-label="Secrets">
      {names.map((name) => (
        <li key={name} className={styles.actions}>
          <code>{name}</code>
          {missing?.includes(name) && (
            <>
              <Badge tone="bad" icon="error">
                missing
              </Badge>
              <Link to="/workspaces/$workspaceId/secrets" params={{ workspaceId }} search={{ needs: [name] }}>
                Set it
              </Link>
            </>
          )}
        </li>
      ))}
    </ul>
  )
}

/** Those of the names that have no value for a run of the user; undefined until that is known. */
export function useMissingSecrets(workspaceId: string, names: readonly string[]): readonly string[] | undefined {
  return useQuery({
    ...documentQuery('/api/workspaces/{workspace}/secrets/missing', {
      params: { workspace: workspaceId },
      query: { name: names.slice(0, 200) },
    }),
    enabled: names.length > 0,
  }).data?.missing
}
