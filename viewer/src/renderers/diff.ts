/** Differences: unified diffs as they were written, and those between two texts. */

export interface DiffLine {
  kind: 'same' | 'added' | 'removed' | 'place' | 'file'
  text: string
  /** Line numbers before and after; 0 where the line is in one only. */
  before: number
  after: number
  /** Parts of a changed line; the marked ones are what changed in it. */
  words?: Word[]
}

export interface Word {
  text: string
  changed: boolean
}

/** Return whether text is a unified diff. */
export function isUnified(text: string): boolean {
  const start = text.slice(0, 4_000)
  return /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m.test(start) && /^(---|diff |\+\+\+) ?/m.test(start)
}

/** Return the lines of a unified diff with their numbers. What a hunk's heading counts belongs to the hunk. */
export function unified(text: string): DiffLine[] {
  const at = { before: 0, after: 0, leftBefore: 0, leftAfter: 0 }
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => lineOf(line, at))
}

interface Hunk {
  before: number
  after: number
  leftBefore: number
  leftAfter: number
}

function lineOf(line: string, at: Hunk): DiffLine {
  const place = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line)
  if (place) {
    at.before = Number(place[1])
    at.leftBefore = Number(place[2] ?? 1)
    at.after = Number(place[3])
    at.leftAfter = Number(place[4] ?? 1)
    return { kind: 'place', text: line, before: 0, after: 0 }
  }
  const inside = at.leftBefore > 0 || at.leftAfter > 0
  if (!inside && /^(diff |index |--- |\+\+\+ |[a-z ]+ mode )/.test(line))
    return { kind: 'file', text: line, before: 0, after: 0 }
  if (line[0] === '\\') return { kind: 'place', text: line, before: 0, after: 0 }
  if (line[0] === '+') {
    at.leftAfter -= 1
    return { kind: 'added', text: line.slice(1), before: 0, after: at.after++ }
  }
  at.leftBefore -= 1
  if (line[0] === '-') return { kind: 'removed', text: line.slice(1), before: at.before++, after: 0 }
  at.leftAfter -= 1
  return { kind: 'same', text: line.replace(/^ /, ''), before: at.before++, after: at.after++ }
}

/** Return how one text became another, line by line, with the changed words of lines that were replaced. */
export function difference(before: string, after: string): DiffLine[] {
  const a = before.split('\n')
  const b = after.split('\n')
  const found: DiffLine[] = []
  for (const { kind, a: x, b: y } of script(a, b)) {
    if (kind === 'same') found.push({ kind, text: a[x] ?? '', before: x + 1, after: y + 1 })
    else if (kind === 'removed') found.push({ kind, text: a[x] ?? '', before: x + 1, after: 0 })
    else found.push({ kind, text: b[y] ?? '', before: 0, after: y + 1 })
  }
  return withWords(found)
}

/** Return the lines with runs of more than `2 * around` same lines shortened to a `place` line. */
export function shortened(lines: DiffLine[], around = 3): DiffLine[] {
  const near = new Set<number>()
  lines.forEach((line, index) => {
    if (line.kind === 'same') return
    for (let at = index - around; at <= index + around; at++) near.add(at)
  })
  const found: DiffLine[] = []
  let hidden = 0
  const close = () => {
    if (hidden)
      found.push({ kind: 'place', text: `${hidden} same line${hidden === 1 ? '' : 's'}`, before: 0, after: 0 })
    hidden = 0
  }
  lines.forEach((line, index) => {
    if (near.has(index)) {
      close()
      found.push(line)
    } else hidden += 1
  })
  close()
  return found
}

function withWords(lines: DiffLine[]): DiffLine[] {
  for (let from = 0; from < lines.length; from++) {
    if (lines[from]?.kind !== 'removed') continue
    let middle = from
    while (lines[middle]?.kind === 'removed') middle += 1
    let to = middle
    while (lines[to]?.kind === 'added') to += 1
    const pairs = Math.min(middle - from, to - middle)
    for (let n = 0; n < pairs; n++) markWords(lines[from + n], lines[middle + n])
    from = to - 1
  }
  return lines
}

function markWords(removed: DiffLine | undefined, added: DiffLine | undefined): void {
  if (!removed || !added || removed.text.length + added.text.length > 2_000) return
  const a = removed.text.match(/\w+|\s+|[^\w\s]/gu) ?? []
  const b = added.text.match(/\w+|\s+|[^\w\s]/gu) ?? []
  const edits = script(a, b)
  const same = edits.filter((edit) => edit.kind === 'same').reduce((sum, edit) => sum + (a[edit.a]?.length ?? 0), 0)
  // Lines that share little are easier to read whole.
  if (same * 3 < Math.max(removed.text.length, added.text.length)) return
  removed.words = edits.filter((edit) => edit.kind !== 'added').map((edit) => word(a[edit.a], edit.kind))
  added.words = edits.filter((edit) => edit.kind !== 'removed').map((edit) => word(b[edit.b], edit.kind))
}

function word(text: string | undefined, kind: string): Word {
  return { text: text ?? '', changed: kind !== 'same' }
}

export interface Edit {
  kind: 'same' | 'removed' | 'added'
  a: number
  b: number
}

const MOST_EDITS = 1_500

/**
 * Return the shortest way from one list to another (E. Myers, "An O(ND) difference algorithm and its variations", 1986).
 * Lists that differ in more than 1,500 places are shown as replaced.
 */
export function script(a: string[], b: string[]): Edit[] {
  let first = 0
  while (first < a.length && first < b.length && a[first] === b[first]) first += 1
  let last = 0
  while (last < a.length - first && last < b.length - first && a[a.length - 1 - last] === b[b.length - 1 - last])
    last += 1
  const edits: Edit[] = []
  for (let n = 0; n < first; n++) edits.push({ kind: 'same', a: n, b: n })
  edits.push(...middle(a.slice(first, a.length - last), b.slice(first, b.length - last), first))
  for (let n = last; n > 0; n--) edits.push({ kind: 'same', a: a.length - n, b: b.length - n })
  return edits
}

function middle(a: string[], b: string[], offset: number): Edit[] {
  const trail = search(a, b)
  if (!trail) {
    return [
      ...a.map((_, n): Edit => ({ kind: 'removed', a: n + offset, b: 0 })),
      ...b.map((_, n): Edit => ({ kind: 'added', a: 0, b: n + offset })),
    ]
  }
  const edits: Edit[] = []
  let x = a.length
  let y = b.length
  for (let d = trail.length - 1; d >= 0; d--) {
    const reach = trail[d] ?? new Map<number, number>()
    const k = x - y
    const down = k === -d || (k !== d && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1))
    const from = down ? k + 1 : k - 1
    const startX = d === 0 ? 0 : (reach.get(from) ?? 0)
    const startY = d === 0 ? 0 : startX - from
    while (x > startX && y > startY) edits.push({ kind: 'same', a: --x + offset, b: --y + offset })
    if (d > 0 && down) edits.push({ kind: 'added', a: 0, b: --y + offset })
    else if (d > 0) edits.push({ kind: 'removed', a: --x + offset, b: 0 })
  }
  return edits.reverse()
}

/** Return how far each diagonal was reached before each number of edits; null when there are too many edits. */
function search(a: string[], b: string[]): Map<number, number>[] | null {
  const trail: Map<number, number>[] = []
  const reach = new Map<number, number>([[1, 0]])
  const most = Math.min(a.length + b.length, MOST_EDITS)
  for (let d = 0; d <= most; d++) {
    trail.push(new Map(reach))
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1))
      let x = down ? (reach.get(k + 1) ?? 0) : (reach.get(k - 1) ?? 0) + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1
      reach.set(k, x)
      if (x >= a.length && x - k >= b.length) return trail
    }
  }
  return null
}

/** Return the words of two texts; those that are not in the other one are marked as changed. */
export function wordDifference(before: string, after: string): { before: Word[]; after: Word[] } {
  const a = before.match(WORDS) ?? []
  const b = after.match(WORDS) ?? []
  const edits = script(a, b)
  return {
    before: joined(edits.filter((edit) => edit.kind !== 'added').map((edit) => word(a[edit.a], edit.kind))),
    after: joined(edits.filter((edit) => edit.kind !== 'removed').map((edit) => word(b[edit.b], edit.kind))),
  }
}

/** Words as people compare them: with the space after them, so that marks do not fall apart. */
const WORDS = /\w+\s*|[^\w\s]\s*|\s+/gu

function joined(words: Word[]): Word[] {
  const found: Word[] = []
  for (const one of words) {
    const last = found.at(-1)
    if (last !== undefined && last.changed === one.changed) last.text += one.text
    else found.push({ ...one })
  }
  return found
}
