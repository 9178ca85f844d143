import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { documentQuery } from '../api/query'
import type { Query } from '../api/types'
import { useShortcut } from '../keys/useShortcut'
import { Button } from '../parts/Button'
import { Icon } from '../parts/Icon'
import { IconButton } from '../parts/IconButton'
import { Key } from '../parts/Key'
import styles from './head.module.css'
import { type EpisodeSearch, listOf, listQuery } from './search'
import { usePressed } from './usePressed'

interface NeighbourLinksProps {
  episodeId: string
  search: EpisodeSearch
}

/** To the episodes before and after this one in the list that the reader came from. */
export function NeighbourLinks({ episodeId, search }: NeighbourLinksProps) {
  const navigate = useNavigate()
  const query = listQuery(search) as Query<'/api/episodes/{episode_id}/neighbours', 'get'>
  const { data, isPending } = useQuery({
    ...documentQuery('/api/episodes/{episode_id}/neighbours', { params: { episode_id: episodeId }, query }),
    retry: false,
  })
  const filtered = Object.keys(listOf(search)).some((name) => name !== 'sort')
  const go = (to: string | null | undefined) => {
    if (!to) return
    const { view, kind, q } = search
    void navigate({
      to: '/episodes/$episodeId',
      params: { episodeId: to },
      search: { ...listOf(search), view, kind, q },
    })
  }
  const press = usePressed(isPending, (side) => go(data?.[side]))
  const which = filtered ? ' of the filtered list' : ''
  const wrong = search.outcome === 'fail'
  const what = wrong ? 'wrong answer' : 'episode'
  useShortcut('[', `Previous ${what}`, () => press('previous'), { group: 'Episode' })
  useShortcut(']', `Next ${what}`, () => press('next'), { group: 'Episode' })
  return (
    <span className={styles.neighbours}>
      {filtered && !wrong && <span className={styles.filtered}>filtered list</span>}
      <IconButton
        icon="chevronLeft"
        label={wrong ? 'Previous wrong answer ([)' : `Previous episode${which} ([)`}
        disabled={!data?.previous}
        onClick={() => go(data?.previous)}
      />
      {wrong ? (
        <Button look="primary" disabled={!data?.next} onClick={() => go(data?.next)}>
          Next wrong answer <Icon name="chevronRight" size={13} /> <Key keys="]" />
        </Button>
      ) : (
        <IconButton
          icon="chevronRight"
          label={`Next episode${which} (])`}
          disabled={!data?.next}
          onClick={() => go(data?.next)}
        />
      )}
    </span>
  )
}
