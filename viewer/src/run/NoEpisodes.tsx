/** What stands in place of the episodes when there are none to show. */

import type { Schema } from '../api/paths'
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
      <Empty title={`No ${unit} fits these filters`}>
        <Button icon="close" onClick={() => onSearch(unfiltered(search))}>
          Clear filters
        </Button>
      </Empty>
    )
  }
  if (run.counts.planned === 0) return <Empty title={`No ${unit} is planned yet`} />
  return (
    <Empty
      title={unit === 'sample' ? 'No sample was run yet' : 'No episode was played yet'}
      command={run.commands.resume ?? undefined}
    />
  )
}
