import { bytes } from '../format'
import { TextButton } from '../parts/TextButton'
import { ContentView, type ContentViewProps } from './ContentView'
import type { Reference } from './content'
import styles from './layout.module.css'
import { ReferredPicture } from './ReferredPicture'
import textStyles from './text.module.css'
import { useBlob } from './useBlob'

const WHOLE = 24 * 1024 * 1024

interface ReferredProps extends Omit<ContentViewProps, 'data'> {
  reference: Reference
}

/** Content that was recorded by reference: its beginning is read at once, the rest when asked. */
export function Referred({ reference, type, ...rest }: ReferredProps) {
  if (type.startsWith('image/') && !type.startsWith('image/svg') && reference.bytes < WHOLE) {
    return <ReferredPicture reference={reference} type={type} large={rest.large} />
  }
  return <ReferredText {...rest} reference={reference} type={type} />
}

function ReferredText({ reference, type, ...rest }: ReferredProps) {
  // Half a picture or half a page says nothing.
  const named = rest.named === 'html' || rest.named === 'image'
  const whole = (named || /^(image\/|text\/html|application\/xhtml)/.test(type)) && reference.bytes < WHOLE
  const blob = useBlob(reference.digest, reference.bytes, whole)
  if (blob.error && !blob.text) return <p className={styles.problem}>{blob.error}</p>
  if (blob.loading && (!blob.text || whole)) return <p className={styles.note}>Loading {bytes(reference.bytes)}…</p>
  return (
    <div className={styles.content}>
      <ContentView
        {...rest}
        data={blob.text}
        type={blob.complete ? type : 'text/plain'}
        named={blob.complete ? rest.named : null}
      />
      {!blob.complete && (
        <div className={textStyles.tools}>
          <span className={styles.note}>
            {bytes(blob.read)} of {bytes(reference.bytes)} loaded{blob.error ? `; ${blob.error}` : ''}
          </span>
          <TextButton disabled={blob.loading} onClick={() => blob.more()}>
            {blob.loading ? 'Loading…' : 'Load more'}
          </TextButton>
          <TextButton disabled={blob.loading} onClick={() => blob.more(true)}>
            Load all {bytes(reference.bytes)}
          </TextButton>
        </div>
      )}
    </div>
  )
}
