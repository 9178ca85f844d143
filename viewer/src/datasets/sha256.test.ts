import { expect, test } from 'vitest'
import { Sha256 } from './sha256'

async function expected(data: Uint8Array<ArrayBuffer>): Promise<string> {
  const found = new Uint8Array(await crypto.subtle.digest('SHA-256', data))
  return [...found].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

test.each([0, 1, 55, 56, 63, 64, 65, 119, 120, 1000, 100_000])(
  '%i bytes have the digest that others find',
  async (length) => {
    const data = Uint8Array.from({ length }, (_, index) => (index * 31) % 256)
    expect(new Sha256().add(data).hex()).toBe(await expected(data))
  },
)

test('how the data is cut does not matter', async () => {
  const data = Uint8Array.from({ length: 1_000 }, (_, index) => index % 251)
  const whole = await expected(data)
  for (const size of [1, 7, 63, 64, 65, 500]) {
    const digest = new Sha256()
    for (let at = 0; at < data.length; at += size) digest.add(data.subarray(at, at + size))
    expect(digest.hex()).toBe(whole)
  }
})
