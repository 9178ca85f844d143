import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import { Status } from '../parts/Status'
import { cutOffWords } from './goesOn'

/** The state of an episode; one that its run left behind does not run. */
export function EpisodeState({ episode }: { episode: Schema<'EpisodeDetail'> }) {
  const words = cutOffWords(episode)
  if (words === '') return <Status of="episode" state={episode.state} />
  return (
    <Badge tone="warn" icon="stop" title={words}>
      {words.split(':')[0]}
    </Badge>
  )
}
