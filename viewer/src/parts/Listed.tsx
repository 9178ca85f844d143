import type { ReactNode } from 'react'
import { Button } from './Button'
import { Failure } from './Failure'
import styles from './panels.module.css'
import { Skeleton } from './Skeleton'
import type { Pages } from './usePages'

/** A list that is read page by page, and how it is shown. */
interface ListedProps<One> {
  pages: Pages<One>
  /** "The domains could not be read". */
  title: string
  /** Height of what stands there until it has come. */
  height?: string
  children: (items: readonly One[]) => ReactNode
}

/** A list as far as it was read, with a button that reads on. */
export function Listed<One>({ pages, title, height = '12rem', children }: ListedProps<One>) {
  const { items, error } = pages
  if (items === undefined)
    return error ? <Failure error={error} title={title} onRetry={pages.refetch} /> : <Skeleton height={height} />
  return (
    <>
      {children(items)}
      {pages.more && (
        <div className={styles.more}>
          <Button busy={pages.busy} onClick={pages.onMore}>
            Show more
          </Button>
        </div>
      )}
    </>
  )
}
