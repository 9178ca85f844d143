import { lexer, type Token, type Tokens } from 'marked'
import { type ReactNode, useMemo } from 'react'
import { Marked } from './Marked'
import styles from './markdown.module.css'
import { TextView } from './TextView'

const LONGEST = 100_000

interface MarkdownProps {
  text: string
  highlight?: string
  /** Whether web addresses can be followed: in what people wrote, not in what was recorded. */
  links?: boolean
}

/** What inner parts need to know. */
interface Look {
  highlight: string
  links: boolean
}

/** Markdown as elements of our own making: HTML in it is shown as text, links say where they lead, images stay away. */
export function Markdown({ text, highlight = '', links = false }: MarkdownProps) {
  const tokens = useMemo(() => tokensOf(text, links), [text, links])
  if (!tokens) return <TextView text={text} highlight={highlight} />
  const look = { highlight, links }
  return (
    <div className={styles.markdown} dir="auto">
      {tokens.map((token, index) => block(token, index, look))}
    </div>
  )
}

/** Return the parts of the text; null when it is too long or cannot be read, and is shown as it is. */
function tokensOf(text: string, breaks: boolean): Token[] | null {
  if (text.length > LONGEST) return null
  try {
    // Who writes a note ends a line where it should end.
    return lexer(text, { gfm: true, breaks })
  } catch {
    return null
  }
}

function blocks(tokens: Token[] | undefined, look: Look): ReactNode[] {
  return (tokens ?? []).map((token, index) => block(token, index, look))
}

function block(token: Token, key: number, look: Look): ReactNode {
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'heading':
      return (
        <p key={key} className={styles.heading} data-depth={Math.min((token as Tokens.Heading).depth, 4)}>
          {inlines(token.tokens, look)}
        </p>
      )
    case 'paragraph':
      return <p key={key}>{inlines(token.tokens, look)}</p>
    case 'code':
      return <TextView key={key} text={(token as Tokens.Code).text} mono highlight={look.highlight} />
    case 'blockquote':
      return <blockquote key={key}>{blocks(token.tokens, look)}</blockquote>
    case 'hr':
      return <hr key={key} />
    case 'list':
      return list(token as Tokens.List, key, look)
    case 'table':
      return table(token as Tokens.Table, key, look)
    case 'text':
      return 'tokens' in token && token.tokens ? (
        <span key={key}>{inlines(token.tokens, look)}</span>
      ) : (
        inline(token, key, look)
      )
    default:
      return inline(token, key, look)
  }
}

function list(token: Tokens.List, key: number, look: Look): ReactNode {
  const items = token.items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other identity
    <li key={index}>
      {item.task && <span aria-hidden="true">{item.checked ? '☑ ' : '☐ '}</span>}
      {blocks(
        item.tokens.filter((part) => part.type !== 'checkbox'),
        look,
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

function table(token: Tokens.Table, key: number, look: Look): ReactNode {
  const side = (column: number) => (token.align[column] === 'right' ? styles.end : undefined)
  return (
    <div key={key} className={styles.scroll}>
      <table>
        <thead>
          <tr>
            {token.header.map((cell, column) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
              <th key={column} scope="col" className={side(column)}>
                {inlines(cell.tokens, look)}
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
                  {inlines(cell.tokens, look)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function inlines(tokens: Token[] | undefined, look: Look): ReactNode[] {
  return (tokens ?? []).map((token, index) => inline(token, index, look))
}

function inline(token: Token, key: number, look: Look): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong key={key}>{inlines(token.tokens, look)}</strong>
    case 'em':
      return <em key={key}>{inlines(token.tokens, look)}</em>
    case 'del':
      return <del key={key}>{inlines(token.tokens, look)}</del>
    case 'codespan':
      return (
        <code key={key}>
          <Marked text={(token as Tokens.Codespan).text} highlight={look.highlight} />
        </code>
      )
    case 'br':
      return <br key={key} />
    case 'link':
      return link(token as Tokens.Link, key, look)
    case 'image':
      return (
        <Address key={key} text={(token as Tokens.Image).text} address={(token as Tokens.Image).href} kind="image" />
      )
    case 'text':
      if ('tokens' in token && token.tokens) return <span key={key}>{inlines(token.tokens, look)}</span>
      return <Marked key={key} text={(token as Tokens.Text).text} highlight={look.highlight} />
    case 'escape':
      return <Marked key={key} text={(token as Tokens.Escape).text} highlight={look.highlight} />
    default:
      return <Marked key={key} text={token.raw} highlight={look.highlight} />
  }
}

function link(token: Tokens.Link, key: number, look: Look): ReactNode {
  const same = token.text === token.href
  if (look.links && /^https?:\/\/[^\s@]+$/i.test(token.href)) {
    return (
      <a key={key} href={token.href} target="_blank" rel="noopener noreferrer nofollow" data-tip={token.href}>
        {inlines(token.tokens, look)}
      </a>
    )
  }
  return (
    <span key={key}>
      {!same && inlines(token.tokens, look)}
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
