/** What a piece of recorded content can be shown as, best way first. */

import type { Schema } from '../api/types'
import { choicesOf } from './choices'
import { isUnified } from './diff'
import { blocksOf, boardText, framedGrid, gridOf } from './grid'
import { pictureOf } from './picture'
import { rowsOf, rowsOfText } from './rows'
import { isFlat, sceneOf } from './scene'
import { chatOf, toolCallOf } from './talk'
import { answerOf, turnOf } from './turn'

interface Content {
  data: unknown
  /** Media type as recorded; empty where none was. */
  type: string
  /** The view that the benchmark names for its observations. */
  named?: NamedView | null
}

/** Views that a manifest can name. */
export type NamedView = NonNullable<Schema<'EpisodeDetail'>['view']>

export type View =
  | 'image'
  | 'board'
  | 'choices'
  | 'scene'
  | 'table'
  | 'markdown'
  | 'html'
  | 'diff'
  | 'turn'
  | 'answer'
  | 'chat'
  | 'tool'
  | 'json'
  | 'text'

export const VIEW_NAMES: Record<View, string> = {
  image: 'Image',
  board: 'Board',
  choices: 'Choices',
  scene: 'Fields',
  table: 'Table',
  markdown: 'Markdown',
  html: 'Page',
  diff: 'Diff',
  turn: 'Conversation',
  answer: 'Answer',
  chat: 'Messages',
  tool: 'Tool call',
  json: 'JSON',
  text: 'Text',
}

export interface Reference {
  digest: string
  bytes: number
}

/** Return where large content lies that was recorded by reference; null for content that is there itself. */
export function referenceOf(data: unknown): Reference | null {
  if (data === null || typeof data !== 'object' || Array.isArray(data)) return null
  const { $blob: digest, bytes } = data as { $blob?: unknown; bytes?: unknown }
  if (typeof digest !== 'string' || typeof bytes !== 'number' || Object.keys(data).length !== 2) return null
  return /^[a-zA-Z0-9:_-]{8,200}$/.test(digest) ? { digest, bytes } : null
}

/** Return the ways to show the content, best first: the named one if it can show this; the last one always works. */
export function viewsOf({ data, type, named }: Content): View[] {
  const media = type.split(';')[0]?.trim().toLowerCase() ?? ''
  const guessed = typeof data === 'string' ? viewsOfText(data, media) : viewsOfData(data, media)
  if (named == null || !canShow(named, data)) return guessed
  return [named, ...guessed.filter((view) => view !== named)]
}

function canShow(view: NamedView, data: unknown): boolean {
  const text = typeof data === 'string' ? data : undefined
  switch (view) {
    case 'board':
      return text === undefined ? (gridOf(data, true) ?? framedGrid(data, true)) !== null : boardText(text) !== null
    case 'table':
      return text === undefined ? rowsOf(data) !== null : rowsOfText(text.slice(0, 4_000)) !== null
    case 'html':
      return text !== undefined
    case 'image':
      return pictureOf(data, 'image/png').kind !== 'none'
  }
}

function viewsOfText(text: string, media: string): View[] {
  if (media.startsWith('image/')) return ['image', 'text']
  if (media === 'text/html' || media === 'application/xhtml+xml') return ['html', 'text']
  if (media === 'text/markdown' || media === 'text/x-markdown') return ['markdown', 'text']
  if (media === 'text/csv' && rowsOfText(text.slice(0, 4_000))) return ['table', 'text']
  if (media === 'text/tab-separated-values' && rowsOfText(text.slice(0, 4_000), '\t')) return ['table', 'text']
  if (/^text\/x-(diff|patch)$/.test(media) || isUnified(text)) return ['diff', 'text']
  if (pictureOf(text.slice(0, 200)).kind === 'raster' && text.startsWith('data:image/')) return ['image', 'text']
  if (blocksOf(text)) return ['board', 'text']
  if (parsedJson(text) !== undefined) return ['json', 'text']
  if (looksLikeMarkdown(text)) return ['text', 'markdown']
  return ['text']
}

function viewsOfData(data: unknown, media: string): View[] {
  if (data === null || typeof data !== 'object') return ['json']
  if (media.startsWith('image/') && pictureOf(data, media).kind !== 'none') return ['image', 'json']
  if (sceneOf(data)?.pictures.length) return framedGrid(data) ? ['scene', 'board', 'json'] : ['scene', 'json']
  if (gridOf(data) || framedGrid(data)) return ['board', 'json']
  if (choicesOf(data)) return ['choices', 'json']
  if (sceneOf(data)) return ['scene', 'json']
  if (turnOf(data)) return ['turn', 'json']
  if (answerOf(data)) return ['answer', 'json']
  if (toolCallOf(data)) return ['tool', 'json']
  if (chatOf(data)) return ['chat', 'json']
  if (rowsOf(data)) return ['table', 'json']
  if (isFlat(data)) return ['scene', 'json']
  return ['json']
}

/** Return the value of text that is a JSON object or list; undefined for any other text. */
export function parsedJson(text: string): unknown {
  const start = text.trimStart()[0]
  if ((start !== '{' && start !== '[') || text.length > 2_000_000) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Return whether text uses the signs of Markdown often enough that showing it as such helps. */
export function looksLikeMarkdown(text: string): boolean {
  const start = text.slice(0, 20_000)
  return /^#{1,6} \S|^```|\*\*[^*\n]+\*\*|^\|.*\|\s*\n\|[\s:|-]+\||^[-*] \S.*\n[-*] \S|^\d+\. \S.*\n\d+\. \S/m.test(
    start,
  )
}

/** Return content as text to copy or to search: strings as they are, everything else as indented JSON. */
export function textOf(data: unknown): string {
  return typeof data === 'string' ? data : (JSON.stringify(data, null, 2) ?? 'null')
}
