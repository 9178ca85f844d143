import { expect, test } from 'vitest'
import { pictureOf, rasterType } from './picture'

const PNG = btoa('\u0089PNG\r\n\u001a\n0000000000000000')

test('raster images are known by their first bytes, whatever they claim to be', () => {
  expect(pictureOf(PNG, 'image/jpeg')).toMatchObject({
    kind: 'raster',
    type: 'image/png',
    source: `data:image/png;base64,${PNG}`,
  })
  expect(rasterType([0xff, 0xd8, 0xff])).toBe('image/jpeg')
  expect(rasterType([0x47, 0x49, 0x46, 0x38])).toBe('image/gif')
  expect(rasterType([...'RIFF0000WEBP'].map((letter) => letter.charCodeAt(0)))).toBe('image/webp')
  expect(rasterType([1, 2, 3])).toBeNull()
})

test('a data URL is judged by its content and not by its type', () => {
  expect(pictureOf(`data:image/png;base64,${btoa('<script>alert(1)</script>')}`)).toMatchObject({ kind: 'none' })
  expect(pictureOf('data:text/html,<script>')).toMatchObject({ kind: 'none' })
})

test('addresses are told, never loaded', () => {
  expect(pictureOf('https://example.org/a.png')).toEqual({ kind: 'remote', address: 'https://example.org/a.png' })
  expect(pictureOf({ url: 'http://example.org/a.png' })).toMatchObject({ kind: 'remote' })
})

test('a drawing becomes a data address in which no part of it is live', () => {
  const found = pictureOf('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>', 'image/svg+xml')
  expect(found).toMatchObject({ kind: 'drawing' })
  expect(found.kind === 'drawing' && found.source).not.toContain('<')
})

test('anything else says why it is no image', () => {
  expect(pictureOf('no image at all!')).toMatchObject({ kind: 'none' })
  expect(pictureOf(null)).toMatchObject({ kind: 'none' })
  expect(pictureOf('')).toMatchObject({ kind: 'none' })
})
