import { Component, type ReactNode } from 'react'
import { textOf } from './content'
import styles from './layout.module.css'
import { TextView } from './TextView'

interface GuardedProps {
  data: unknown
  children: ReactNode
}

/** Shows content as plain text when its own form fails; one broken value never takes the page with it. */
export class Guarded extends Component<GuardedProps, { failed: boolean }> {
  override state = { failed: false }

  static getDerivedStateFromError() {
    return { failed: true }
  }

  override render() {
    if (!this.state.failed) return this.props.children
    return (
      <div className={styles.content}>
        <p className={styles.note}>This content could not be rendered and is shown as text.</p>
        <TextView text={textOf(this.props.data)} mono />
      </div>
    )
  }
}
