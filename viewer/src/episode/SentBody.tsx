/** The body of a call as it was sent, to copy as a command or a program; the key is a variable. */

import type { Schema } from '../api/types'
import { CopyButton } from '../parts/CopyButton'
import { JsonTree } from '../renderers/JsonTree'
import styles from './SentBody.module.css'

export function SentBody({ wire }: { wire: Schema<'WireDocument'> }) {
  return (
    <div className={styles.body}>
      <p className={styles.head}>
        <code>POST {wire.path}</code>
        <span>
          curl <CopyButton text={wire.curl} label="Copy as curl" />
        </span>
        <span>
          Python <CopyButton text={wire.python} label="Copy as Python" />
        </span>
        <span>
          JSON <CopyButton text={JSON.stringify(wire.body, null, 2)} label="Copy the body" />
        </span>
      </p>
      <JsonTree value={wire.body} label="Body" />
    </div>
  )
}
