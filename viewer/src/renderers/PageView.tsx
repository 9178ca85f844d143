import { useEffect, useRef, useState } from 'react'
import { plural } from '../format'
import { TextButton } from '../parts/TextButton'
import { fillPage } from './page'
import styles from './page.module.css'
import { TextView } from './TextView'

/** HTML as a page of its own, without scripts, links and anything from elsewhere. */
export function PageView({ html, highlight }: { html: string; highlight?: string }) {
  const frame = useRef<HTMLIFrameElement>(null)
  const [ready, setReady] = useState(0)
  const [dropped, setDropped] = useState(0)
  const [source, setSource] = useState(false)
  useEffect(() => {
    const page = frame.current?.contentDocument
    if (ready && page?.body) setDropped(fillPage(page, html))
  }, [html, ready])
  return (
    <div className={styles.page}>
      <div className={styles.tools}>
        <TextButton aria-pressed={source} onClick={() => setSource(!source)}>
          {source ? 'Show page' : 'Show source'}
        </TextButton>
        {dropped > 0 && (
          <span className={styles.note}>{plural(dropped, 'script or link', 'scripts and links')} removed</span>
        )}
      </div>
      {source ? (
        <TextView text={html} mono highlight={highlight} />
      ) : (
        <div className={styles.resizable}>
          <iframe
            ref={frame}
            className={styles.frame}
            title="Recorded page"
            src="./frame.html"
            // Our own script fills the page, so it must count as ours; without allow-scripts nothing in it can run.
            sandbox="allow-same-origin"
            referrerPolicy="no-referrer"
            onLoad={() => setReady((count) => count + 1)}
          />
        </div>
      )}
    </div>
  )
}
