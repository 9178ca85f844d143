import { Link } from '@tanstack/react-router'
import { useLayoutEffect, useRef } from 'react'
import styles from './WorkspaceNav.module.css'

/** The pages of a workspace; where there is no room for all, that which is shown is in view. */
export function WorkspaceNav({ workspaceId }: { workspaceId: string }) {
  const params = { workspaceId }
  const nav = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const here = nav.current?.querySelector<HTMLElement>('[aria-current=page]')
    // Not scrollIntoView, which may also scroll the page.
    if (nav.current && here) nav.current.scrollLeft = here.offsetLeft + (here.offsetWidth - nav.current.clientWidth) / 2
  }, [])
  const options = { exact: true, includeSearch: false }
  return (
    <nav ref={nav} aria-label="Workspace" className={styles.nav}>
      <Link to="/workspaces/$workspaceId" params={params} activeOptions={options}>
        Overview
      </Link>
      <Link to="/workspaces/$workspaceId/rollouts" params={params}>
        Rollouts
      </Link>
      <Link to="/workspaces/$workspaceId/repository" params={params}>
        Repository
      </Link>
      <Link to="/workspaces/$workspaceId/datasets" params={params}>
        Datasets
      </Link>
      <Link to="/workspaces/$workspaceId/secrets" params={params} activeOptions={options}>
        Secrets
      </Link>
      <Link to="/workspaces/$workspaceId/schedules" params={params}>
        Schedules
      </Link>
      <Link to="/workspaces/$workspaceId/notifications" params={params} activeOptions={options}>
        Notifications
      </Link>
      <Link to="/workspaces/$workspaceId/members" params={params} activeOptions={options}>
        Members
      </Link>
    </nav>
  )
}
