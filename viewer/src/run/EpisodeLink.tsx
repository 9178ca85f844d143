/** The way to an episode; the filter goes along, so that "next" there means next here. */

import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type EpisodeFilter, listSearch } from './search'

interface EpisodeLinkProps {
  id: string
  filter: EpisodeFilter
  title?: string
  children: ReactNode
}

export function EpisodeLink({ id, filter, title, children }: EpisodeLinkProps) {
  return (
    <Link to="/episodes/$episodeId" params={{ episodeId: id }} search={listSearch(filter)} data-tip={title}>
      {children}
    </Link>
  )
}
