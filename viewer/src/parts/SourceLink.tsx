import type { ReactNode } from 'react'

/** Where something comes from: a link when that is a web address and nothing else, else the words. */
export function SourceLink({ source, children }: { source: string; children?: ReactNode }) {
  const words = children ?? source
  if (!/^https?:\/\/\S+$/.test(source)) return <bdi data-tip={source}>{words}</bdi>
  return (
    <a href={source} target="_blank" rel="noopener noreferrer" data-tip={source}>
      {words}
    </a>
  )
}
