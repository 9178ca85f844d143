import { lexer, type Token, type Tokens } from 'marked'
import { type ReactNode, useMemo } from 'react'
import { Marked } from './Marked'
import styles from './markdown.module.css'
import { TextView } from './TextView'

const LONGEST = 100_000

interface MarkdownProps {
  text: string
  highlight?: string
}

/** Markdown as elements of our own making: HTML in it is shown as text, links say where they lead, images stay away. */
export function Markdown({ text, highlight = '' }: MarkdownProps) {
  const tokens = useMemo(() => tokensOf(text), [text])
  if (!tokens) return <TextView text={text} highlight={highlight} />
  return (
    <div className={styles.markdown} dir="auto">
      {tokens.map((token, index) => block(token, index, highlight))}
    </div>
  )
}

/** Return the parts of the text; null when it is too long or cannot be read, and is shown as it is. */
function tokensOf(text: string): Token[] | null {
  if (text.length > LONGEST) return null
  try {
    return lexer(text, { gfm: true })
  } catch {
    return null
  }
}

function blocks(tokens: Token[] | undefined, highlight: string): ReactNode[] {
  return (tokens ?? []).map((token, index) => block(token, index, highlight))
}

function block(token: Token, key: number, highlight: string): ReactNode {
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'heading':
      return (
        <p key={key} className={styles.heading} data-depth={Math.min((token as Tokens.Heading).depth, 4)}>
          {inlines(token.tokens, highlight)}
        </p>
      )
    case 'paragraph':
      return <p key={key}>{inlines(token.tokens, highlight)}</p>
    case 'code':
      return <TextView key={key} text={(token as Tokens.Code).text} mono highlight={highlight} />
    case 'blockquote':
      return <blockquote key={key}>{blocks(token.tokens, highlight)}</blockquote>
    case 'hr':
      return <hr key={key} />
    case 'list':
      return list(token as Tokens.List, key, highlight)
    case 'table':
      return table(token as Tokens.Table, key, highlight)
    case 'text':
      return 'tokens' in token && token.tokens ? (
        <span key={key}>{inlines(token.tokens, highlight)}</span>
      ) : (
        inline(token, key, highlight)
      )
    default:
      return inline(token, key, highlight)
  }
}

function list(token: Tokens.List, key: number, highlight: string): ReactNode {
  const items = token.items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other identity
    <li key={index}>
      {item.task && <span aria-hidden="true">{item.checked ? '☑ ' : '☐ '}</span>}
      {blocks(
        item.tokens.filter((part) => part.type !== 'checkbox'),
        highlight,
      )}
    </li>
  ))
  if (!token.ordered) return <ul key={key}>{items}</ul>
  return (
    <ol key={key} start={typeof token.start === 'number' ? token.start : undefined}>
      {items}
    </ol>
  )
}

function table(token: Tokens.Table, key: number, highlight: string): ReactNode {
  const side = (column: number) => (token.align[column] === 'right' ? styles.end : undefined)
  return (
    <div key={key} className={styles.scroll}>
      <table>
        <thead>
          <tr>
            {token.header.map((cell, column) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
              <th key={column} scope="col" className={side(column)}>
                {inlines(cell.tokens, highlight)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, line) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity
            <tr key={line}>
              {row.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
                <td key={column} className={side(column)}>
                  {inlines(cell.tokens, highlight)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function inlines(tokens: Token[] | undefined, highlight: string): ReactNode[] {
  return (tokens ?? []).map((token, index) => inline(token, index, highlight))
}

function inline(token: Token, key: number, highlight: string): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong key={key}>{inlines(token.tokens, highlight)}</strong>
    case 'em':
      return <em key={key}>{inlines(token.tokens, highlight)}</em>
    case 'del':
      return <del key={key}>{inlines(token.tokens, highlight)}</del>
    case 'codespan':
      return (
        <code key={key}>
          <Marked text={(token as Tokens.Codespan).text} highlight={highlight} />
        </code>
      )
    case 'br':
      return <br key={key} />
    case 'link':
      return link(token as Tokens.Link, key, highlight)
    case 'image':
      return (
        <Address key={key} text={(token as Tokens.Image).text} address={(token as Tokens.Image).href} kind="image" />
      )
    case 'text':
      if ('tokens' in token && token.tokens) return <span key={key}>{inlines(token.tokens, highlight)}</span>
      return <Marked key={key} text={(token as Tokens.Text).text} highlight={highlight} />
    case 'escape':
      return <Marked key={key} text={(token as Tokens.Escape).text} highlight={highlight} />
    default:
      return <Marked key={key} text={token.raw} highlight={highlight} />
  }
}

function link(token: Tokens.Link, key: number, highlight: string): ReactNode {
  const same = token.text === token.href
  return (
    <span key={key}>
      {!same && inlines(token.tokens, highlight)}
      {!same && ' '}
      <Address text="" address={token.href} kind="link" />
    </span>
  )
}

/** Where a link or an image points; it can be read and copied, not followed. */
function Address({ text, address, kind }: { text: string; address: string; kind: string }) {
  return (
    <span className={styles.address} data-tip={`${kind} in recorded content; not clickable`}>
      {text && `${text} `}⟨<Marked text={address} />⟩
    </span>
  )
}
