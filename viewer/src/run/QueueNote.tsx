import { useQuery } from '@tanstack/react-query'
import { documentQuery } from '../api/query'
import { Status } from '../parts/Status'
import { placeWords } from './queue'

const LOOK_AGAIN = 3_000

/** Where a run that waits stands in the queue. */
export function QueueNote({ runId }: { runId: string }) {
  const { data } = useQuery({
    ...documentQuery('/api/runs/{run_id}/queue', { params: { run_id: runId } }),
    refetchInterval: LOOK_AGAIN,
  })
  return (
    <span aria-live="polite" data-tip="The queue is shared fairly between users, so other runs may move ahead">
      <Status state="pending" /> {placeWords(data)}
    </span>
  )
}
