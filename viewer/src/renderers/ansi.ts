/** Colours and weights that terminal programs write between the characters of their text. */

interface Styled {
  text: string
  /** Classes of the look, without the stylesheet's prefix: `fg-red`, `bold`, … */
  look: string[]
}

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']
const SEQUENCE = /\u001b\[([0-9;]*)m/g
const OTHER_SEQUENCES = /\u001b\[[0-9;?]*[A-LN-Zac-ln-z]/g

const IN_WORDS = /<(red|green|yellow|blue|magenta|cyan|white)>([^<]*)<\/\1>/g

/** Return text with colours as words, `<red>S</red>`, with sequences in their place: the tags would shift a drawing. */
export function coloursOfWords(text: string): string {
  return text.replace(IN_WORDS, (_whole, name: string, inside: string) => {
    return `\u001b[${30 + COLOURS.indexOf(name)}m${inside}\u001b[0m`
  })
}

/** Return whether the text holds sequences that set colours. */
export function hasColours(text: string): boolean {
  return /\u001b\[[0-9;]*m/.test(text.slice(0, 100_000))
}

/** Return the text in runs of one look; sequences that move the cursor are dropped. */
export function styled(text: string): Styled[] {
  const found: Styled[] = []
  const state = { colour: '', back: '', marks: new Set<string>() }
  let from = 0
  const put = (end: number) => {
    const part = text.slice(from, end).replace(OTHER_SEQUENCES, '')
    if (part) found.push({ text: part, look: look(state) })
  }
  for (const match of text.matchAll(SEQUENCE)) {
    put(match.index)
    apply(state, (match[1] ?? '').split(';').map(Number))
    from = match.index + match[0].length
  }
  put(text.length)
  return found
}

interface State {
  colour: string
  back: string
  marks: Set<string>
}

function look(state: State): string[] {
  const classes = [...state.marks]
  if (state.colour) classes.push(`fg-${state.colour}`)
  if (state.back) classes.push(`bg-${state.back}`)
  return classes
}

function apply(state: State, codes: number[]): void {
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] ?? 0
    if (code === 0) {
      state.colour = state.back = ''
      state.marks.clear()
    } else if (code === 1) state.marks.add('bold')
    else if (code === 2) state.marks.add('faint')
    else if (code === 3) state.marks.add('italic')
    else if (code === 4) state.marks.add('underline')
    else if (code === 22) {
      state.marks.delete('bold')
      state.marks.delete('faint')
    } else if (code === 23) state.marks.delete('italic')
    else if (code === 24) state.marks.delete('underline')
    else if (code >= 30 && code <= 37) state.colour = COLOURS[code - 30] ?? ''
    else if (code === 39) state.colour = ''
    else if (code >= 40 && code <= 47) state.back = COLOURS[code - 40] ?? ''
    else if (code === 49) state.back = ''
    else if (code >= 90 && code <= 97) state.colour = COLOURS[code - 90] ?? ''
    else if (code >= 100 && code <= 107) state.back = COLOURS[code - 100] ?? ''
    else if (code === 38 || code === 48) index += codes[index + 1] === 5 ? 2 : 4 // extended colours: not shown
  }
}
