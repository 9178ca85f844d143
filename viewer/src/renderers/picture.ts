/** Images inside data: which they are by their first bytes, and a source that reaches no network. */

type Raster = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'

type Picture =
  | { kind: 'raster'; type: Raster; source: string; bytes: number }
  | { kind: 'drawing'; source: string; bytes: number }
  | { kind: 'remote'; address: string }
  | { kind: 'none'; reason: string }

/** Return the type of a raster image by its first bytes; null for anything else. */
export function rasterType(bytes: ArrayLike<number>): Raster | null {
  const at = (index: number) => bytes[index]
  if (at(0) === 0x89 && at(1) === 0x50 && at(2) === 0x4e && at(3) === 0x47) return 'image/png'
  if (at(0) === 0xff && at(1) === 0xd8 && at(2) === 0xff) return 'image/jpeg'
  if (at(0) === 0x47 && at(1) === 0x49 && at(2) === 0x46 && at(3) === 0x38) return 'image/gif'
  const riff = at(0) === 0x52 && at(1) === 0x49 && at(2) === 0x46 && at(3) === 0x46
  return riff && at(8) === 0x57 && at(9) === 0x45 && at(10) === 0x42 && at(11) === 0x50 ? 'image/webp' : null
}

/** Return what a type of image is called. */
export function rasterName(type: Raster): string {
  return type.replace('image/', '').toUpperCase()
}

/** Return what can be shown of a value that should be an image: base64, a data URL, SVG text, or an object of these. */
export function pictureOf(data: unknown, contentType = ''): Picture {
  if (data !== null && typeof data === 'object' && !Array.isArray(data)) {
    const { data: inner, url } = data as { data?: unknown; url?: unknown }
    if (typeof inner === 'string' && inner) return pictureOf(inner, contentType)
    if (typeof url === 'string') return pictureOf(url, contentType)
  }
  if (typeof data !== 'string') return { kind: 'none', reason: 'the value contains no image' }
  const text = data.trim()
  if (/^https?:\/\//i.test(text)) return { kind: 'remote', address: text }
  if (/^(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?<svg[\s>]/is.test(text.slice(0, 2_000))) return drawing(text)
  const url = /^data:([^;,]*)((?:;[^;,]*)*),(.*)$/is.exec(text)
  if (url) return ofDataUrl(url[1] ?? '', url[2] ?? '', url[3] ?? '')
  if (contentType.startsWith('image/svg')) return { kind: 'none', reason: 'not a valid SVG' }
  return ofBase64(text)
}

/** Return whether a string is an image that stands in the text itself. */
export function isInlineImage(text: string): boolean {
  return /^data:image\/[a-z0-9.+-]+[;,]/i.test(text.slice(0, 100))
}

function ofDataUrl(type: string, parameters: string, body: string): Picture {
  if (!/;base64$/i.test(parameters)) {
    const text = decoded(body)
    return type.toLowerCase().startsWith('image/svg') && text !== null
      ? drawing(text)
      : { kind: 'none', reason: `the data URL has type ${type || 'text/plain'}, which is not an image` }
  }
  if (type.toLowerCase().startsWith('image/svg')) {
    const text = fromBase64(body)
    return text === null ? { kind: 'none', reason: 'invalid base64' } : drawing(text)
  }
  return ofBase64(body)
}

function ofBase64(text: string): Picture {
  const body = text.replace(/\s+/g, '').replace(/-/g, '+').replace(/_/g, '/')
  const start = fromBase64(body.slice(0, 32))
  if (start === null || !/^[A-Za-z0-9+/]+={0,2}$/.test(body)) {
    return { kind: 'none', reason: 'neither base64 nor a data URL' }
  }
  const type = rasterType(Array.from(start, (letter) => letter.charCodeAt(0)))
  if (!type) return { kind: 'none', reason: 'not a PNG, JPEG, GIF or WebP' }
  const padding = body.endsWith('==') ? 2 : body.endsWith('=') ? 1 : 0
  const whole = body.padEnd(Math.ceil(body.length / 4) * 4, '=')
  return { kind: 'raster', type, source: `data:${type};base64,${whole}`, bytes: (body.length * 3) / 4 - padding }
}

/** An SVG may hold scripts; as the source of an <img> none of them run and nothing is loaded. */
function drawing(text: string): Picture {
  const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text.toWellFormed?.() ?? text)}`
  return { kind: 'drawing', source, bytes: text.length }
}

function fromBase64(text: string): string | null {
  try {
    return atob(text)
  } catch {
    return null
  }
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
