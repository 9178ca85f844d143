import type { ReactNode } from 'react'
import type { Schema } from '../api/types'
import { BOUNDARIES } from '../api/words'
import { causeWords, failureEffect } from '../cause'
import { lookOf } from '../parts/look'
import styles from './failure.module.css'
import { Marked } from './Marked'
import { TextView } from './TextView'

interface FailureViewProps {
  failure: Partial<Schema<'FailureDocument'>> & { cause: string; message: string }
  /** What can be done about it: links, buttons. */
  children?: ReactNode
  highlight?: string
}

/** Why something failed: in plain words first, then what was said, then the evidence. */
export function FailureView({ failure, children, highlight }: FailureViewProps) {
  const { title, advice } = causeWords(failure.cause)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would be announced as a form
    <div className={styles.failure} role="group" aria-label={title}>
      <p className={styles.title}>
        <span className={styles.sign} aria-hidden="true">
          ✕
        </span>
        {title}
        <code className={styles.cause}>{failure.cause}</code>
      </p>
      <div className={styles.message}>
        <TextView text={failure.message} highlight={highlight} lines={6} />
      </div>
      <p className={styles.meaning}>
        {advice} {failure.valid !== undefined && failureEffect(failure.valid)}
      </p>
      {children && <div className={styles.actions}>{children}</div>}
      {failure.detail && (
        <Evidence
          title={evidenceTitle(failure)}
          text={failure.detail}
          highlight={highlight}
          keep={endOf(failure.detail)}
          open
        />
      )}
      {failure.stderr && (
        <Evidence
          title="Last lines of stderr"
          text={failure.stderr}
          highlight={highlight}
          keep="tail"
          open={!failure.detail}
        />
      )}
    </div>
  )
}

function evidenceTitle({ cause, boundary }: FailureViewProps['failure']): string {
  return cause.startsWith('workflow_')
    ? 'Output of the workflow'
    : (lookOf<string>(BOUNDARIES, boundary ?? '') ?? 'Details')
}

/** A traceback says what happened in its last line, anything else in its first. */
function endOf(detail: string): 'head' | 'tail' {
  return detail.includes('Traceback (most recent') ? 'tail' : 'head'
}

function Evidence({
  title,
  text,
  highlight,
  open,
  keep,
}: {
  title: string
  text: string
  highlight?: string
  open: boolean
  keep: 'head' | 'tail'
}) {
  return (
    <details className={styles.evidence} open={open}>
      <summary>
        <Marked text={title} />
      </summary>
      <div className={styles.output}>
        <TextView text={text} mono highlight={highlight} lines={14} keep={keep} />
      </div>
    </details>
  )
}
