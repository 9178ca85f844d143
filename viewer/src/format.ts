/** Numbers and times as people read them: short, with units, always in the same form. */

/** What stands where a value is missing. */
export const MISSING = '–'

const MINUS = '−'
const GROUPED = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

function grouped(value: number): string {
  return GROUPED.format(value)
}

function withMinus(value: number, text: (positive: number) => string): string {
  return value < 0 ? MINUS + text(-value) : text(value)
}

/** A count in full with separators: 12,345. */
export function count(value: number | null | undefined): string {
  return value == null ? MISSING : withMinus(value, grouped)
}

/** A score, reward or other measurement in about three significant digits: 0.812, 12.3, 1,234, 1.23M. */
export function measure(value: number | null | undefined): string {
  if (value == null || Number.isNaN(value)) return MISSING
  return withMinus(value, (size) => {
    if (!Number.isFinite(size)) return '∞'
    if (size >= 999_999.5) return compact(size)
    if (size >= 100) return grouped(size)
    if (size >= 10) return size.toFixed(1)
    if (size >= 0.001 || size === 0) return size.toFixed(3)
    return size.toPrecision(2)
  })
}

/** A value at a tick of an axis: as few digits as say it. */
export function tick(value: number): string {
  if (Math.abs(value) >= 1000) return compact(value)
  return withMinus(value, (size) => String(Number(size.toPrecision(6))))
}

/** A difference, always with its sign: +0.031, −0.020, 0.000. */
export function signed(value: number | null | undefined): string {
  if (value == null) return MISSING
  return value > 0 ? `+${measure(value)}` : measure(value)
}

/** An interval in brackets: [0.780, 0.840]; empty when an end is unknown. */
export function interval(low: number | null | undefined, high: number | null | undefined, weak?: boolean): string {
  if (low == null || high == null) return ''
  const ends = [measure(low), measure(high)]
  // Ends that differ never look the same.
  for (let digits = 4; ends[0] === ends[1] && low < high && digits <= 17; digits += 1) {
    ends[0] = low.toPrecision(digits)
    ends[1] = high.toPrecision(digits)
  }
  return `[${ends.join(', ')}]${weak ? ' weak' : ''}`
}

/** A large count with a suffix: 950, 12.3k, 4.56M, 1.20B. */
export function compact(value: number | null | undefined): string {
  if (value == null) return MISSING
  return withMinus(value, (size) => {
    for (const [limit, suffix] of [
      [999_500_000, 'B'],
      [999_500, 'M'],
      [999.5, 'k'],
    ] as const) {
      if (size >= limit) return threeDigits(size / (suffix === 'B' ? 1e9 : suffix === 'M' ? 1e6 : 1e3)) + suffix
    }
    return Number.isInteger(size) ? String(size) : threeDigits(size)
  })
}

function threeDigits(value: number): string {
  if (value >= 99.95) return grouped(value)
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2)
}

/** An amount of US dollars: $0, $0.0012, $0.123, $12.34, $1,234, $1.23M. */
export function money(usd: number | null | undefined): string {
  if (usd == null) return MISSING
  return withMinus(usd, (size) => {
    if (size === 0) return '$0'
    if (size >= 99_999.5) return `$${compact(size)}`
    if (size >= 1000) return `$${grouped(size)}`
    if (size >= 1) return `$${size.toFixed(2)}`
    if (size >= 0.01) return `$${size.toFixed(3)}`
    return size >= 0.0001 ? `$${size.toFixed(4)}` : '<$0.0001'
  })
}

/** A length of time given in seconds: 85 ms, 12.3 s, 4m 05s, 2h 07m, 3d 4h. */
export function duration(seconds: number | null | undefined): string {
  if (seconds == null) return MISSING
  return withMinus(seconds, (size) => {
    if (size === 0) return '0 s'
    if (size < 0.0095) return `${(size * 1000).toFixed(1)} ms`
    if (size < 0.9995) return `${Math.round(size * 1000)} ms`
    if (size < 59.95) return `${size.toFixed(1)} s`
    const whole = Math.round(size)
    if (whole < 3600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`
    const minutes = Math.round(size / 60)
    if (minutes < 1440) return `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`
    const hours = Math.round(size / 3600)
    return `${Math.floor(hours / 24)}d ${hours % 24}h`
  })
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}

/** A share as a percentage: 0%, 0.4%, 81%, 100%; never rounds to none or all. */
export function percent(share: number | null | undefined): string {
  if (share == null) return MISSING
  return withMinus(share, (size) => {
    if (size === 0 || size === 1) return `${size * 100}%`
    if (size < 0.001) return '<0.1%'
    if (size < 0.0995) return `${(size * 100).toFixed(1)}%`
    return size > 0.99 && size < 1 ? `${Math.min(size * 100, 99.9).toFixed(1)}%` : `${Math.round(size * 100)}%`
  })
}

/** A p value: <0.001, 0.012, 0.43. */
export function pValue(p: number | null | undefined): string {
  if (p == null) return MISSING
  if (p < 0.001) return '<0.001'
  return p < 0.1 ? p.toFixed(3) : p.toFixed(2)
}

/** A size in bytes: 900 B, 12.3 kB, 4.56 MB. */
export function bytes(size: number | null | undefined): string {
  if (size == null) return MISSING
  if (size < 999.5) return `${size} B`
  if (size < 999_500) return `${threeDigits(size / 1e3)} kB`
  return size < 999_500_000 ? `${threeDigits(size / 1e6)} MB` : `${threeDigits(size / 1e9)} GB`
}

/** A number of things: 1 run, 12 runs. */
export function plural(amount: number, one: string, many = `${one}s`): string {
  return `${count(amount)} ${amount === 1 ? one : many}`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** How long ago (or how far ahead) an instant is: just now, 12 s ago, 5 min ago, 3 h ago, 2 d ago, 12 Nov, 12 Nov 2025. */
export function relative(instant: string | null | undefined, now: number = Date.now()): string {
  if (!instant) return MISSING
  const date = new Date(instant)
  const seconds = (now - date.getTime()) / 1000
  if (Number.isNaN(seconds)) return instant
  const size = Math.abs(seconds)
  if (size < 5) return 'just now'
  if (size >= 6.5 * 86_400) return day(date, new Date(now))
  const text = ago(size)
  return seconds < 0 ? `in ${text}` : `${text} ago`
}

function ago(seconds: number): string {
  if (seconds < 59.5) return `${Math.round(seconds)} s`
  if (seconds < 59.5 * 60) return `${Math.round(seconds / 60)} min`
  return seconds < 23.5 * 3600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`
}

function day(date: Date, now: Date): string {
  const text = `${date.getDate()} ${MONTHS[date.getMonth()]}`
  return date.getFullYear() === now.getFullYear() ? text : `${text} ${date.getFullYear()}`
}

/** An instant in full, in the reader's time zone: 2026-11-21 12:33:05.120 +01:00. */
export function exactTime(instant: string | null | undefined): string {
  if (!instant) return ''
  const date = new Date(instant)
  if (Number.isNaN(date.getTime())) return instant
  const offset = -date.getTimezoneOffset()
  const zone = `${offset < 0 ? '-' : '+'}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`
  const days = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  return `${days} ${time}.${String(date.getMilliseconds()).padStart(3, '0')} ${zone}`
}

/** The exact value for a title: all digits of a number, or nothing when it is missing. */
export function exact(value: number | null | undefined, unit = ''): string {
  if (value == null) return 'no value'
  const text = Number.isInteger(value) && Math.abs(value) >= 10_000 ? `${count(value)}` : String(value)
  return unit ? `${text} ${unit}` : text
}

/** Words with a capital letter at the beginning. */
export function capitalized(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** A message of the server, which begins with a small letter, as a sentence; the name of a thing is left as it is. */
export function sentence(message: string): string {
  return /^(?!mesocosm)[a-z]+[ ,]/.test(message) ? capitalized(message) : message
}
