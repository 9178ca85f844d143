/** What stands in place of the episodes when there are none to show. */

import type { Schema } from '../api/types'
import { Button } from '../parts/Button'
import { Empty } from '../parts/Empty'
import { unitOf } from './results/rollout'
import { isFiltered, type RunSearch, unfiltered } from './search'

interface NoEpisodesProps {
  run: Schema<'RunDetail'>
  search: RunSearch
  onSearch: (search: RunSearch) => void
}

export function NoEpisodes({ run, search, onSearch }: NoEpisodesProps) {
  const unit = unitOf(run)
  if (isFiltered(search)) {
    return (
      <Empty title={`No ${unit} matches these filters`}>
        <Button icon="close" onClick={() => onSearch(unfiltered(search))}>
          Clear filters
        </Button>
      </Empty>
    )
  }
  if (run.counts.planned === 0) return <Empty title={`No ${unit} is planned yet`} />
  return (
    <Empty
      title={unit === 'sample' ? 'No samples yet' : 'No episodes yet'}
      command={run.commands.resume ?? undefined}
    />
  )
}
