import { useState } from 'react'
import { TextButton } from '../parts/TextButton'
import { looksLikeMarkdown } from './content'
import { Markdown } from './Markdown'
import { TextView } from './TextView'

interface ProseProps {
  text: string
  highlight?: string
  /** Show long text at once. */
  open?: boolean
  /** Lines of plain text that are shown before one asks for more. */
  lines?: number
}

/** What a model or a person said: Markdown where it looks like it, and as text at a press. */
export function Prose({ text, highlight, open, lines }: ProseProps) {
  const [plain, setPlain] = useState(false)
  if (!looksLikeMarkdown(text)) return <TextView text={text} highlight={highlight} open={open} lines={lines} />
  return (
    <>
      {plain ? (
        <TextView text={text} highlight={highlight} open={open} lines={lines} />
      ) : (
        <Markdown text={text} highlight={highlight} />
      )}
      <TextButton size="xs" aria-pressed={plain} onClick={() => setPlain(!plain)}>
        {plain ? 'Show as Markdown' : 'Show as text'}
      </TextButton>
    </>
  )
}
