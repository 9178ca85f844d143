import { PageSkeleton } from '../parts/PageSkeleton'
import { RunsPage } from '../runs/RunsPage'
import { useMe } from '../session/useMe'
import { GalleryPage } from './GalleryPage'

/** The start page: one's runs, or for those who are not signed in what is public. */
export function HomePage() {
  const me = useMe()
  if (me === undefined) return <PageSkeleton />
  return me.type === 'anonymous' ? <GalleryPage /> : <RunsPage />
}
