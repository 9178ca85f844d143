import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'
import { Failure } from '../parts/Failure'
import { Page } from '../parts/Page'
import { PageSkeleton } from '../parts/PageSkeleton'
import { EpisodeHead } from './EpisodeHead'
import { EpisodeView } from './EpisodeView'
import type { EpisodeSearch } from './search'
import { useEpisode } from './useEpisode'

/** One episode: how it went, why it failed, every event of it, and a player. */
export function EpisodePage() {
  const { episodeId } = useParams({ from: '/episodes/$episodeId' })
  const search: EpisodeSearch = useSearch({ from: '/episodes/$episodeId' })
  const navigate = useNavigate({ from: '/episodes/$episodeId' })
  const change = useCallback(
    (part: Partial<EpisodeSearch>, replace = true) =>
      void navigate({ search: (now) => ({ ...now, ...part }), replace, resetScroll: false }),
    [navigate],
  )
  const { data: episode, error, refetch, isPlaceholderData } = useEpisode(episodeId)
  if (!episode && !error) return <PageSkeleton />
  if (!episode) {
    return (
      <Page title="Episode" trail={<Link to="/">Runs</Link>}>
        <Failure error={error} title="The episode could not be loaded" onRetry={() => void refetch()} />
      </Page>
    )
  }
  return (
    <EpisodeHead episode={episode} search={search} loading={isPlaceholderData}>
      <EpisodeView key={episode.id} episode={episode} search={search} change={change} />
    </EpisodeHead>
  )
}
