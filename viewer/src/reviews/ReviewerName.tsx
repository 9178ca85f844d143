import { useState } from 'react'
import type { Schema } from '../api/types'
import { Button } from '../parts/Button'
import { TextButton } from '../parts/TextButton'
import styles from './reviews.module.css'
import { useReviewer } from './useReviewer'

/** Who reviews, and a field to change the name where there are no accounts. */
export function ReviewerName({ reviewer }: { reviewer: Schema<'Reviewer'> }) {
  const [, choose] = useReviewer()
  const [written, setWritten] = useState<string>()
  if (written === undefined)
    return (
      <span className={styles.reviewer}>
        You review as <bdi>{reviewer.name}</bdi>
        {reviewer.changeable && (
          <TextButton onClick={() => setWritten(reviewer.name)} aria-label="Change the name under which you review">
            Change
          </TextButton>
        )}
      </span>
    )
  return (
    <form
      className={styles.reviewer}
      onSubmit={(event) => {
        event.preventDefault()
        choose(written)
        setWritten(undefined)
      }}
    >
      <label>
        Review as{' '}
        <input
          // biome-ignore lint/a11y/noAutofocus: the person has just asked for this field
          autoFocus
          className={styles.nameField}
          value={written}
          maxLength={100}
          onChange={(event) => setWritten(event.target.value)}
        />
      </label>
      <Button type="submit">Keep</Button>
    </form>
  )
}
