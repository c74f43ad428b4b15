import t from 'tap'
import { hashPayloads } from '../../../src/engine/content-hash.js'

/** HalfSipHash-1-3 with 64 bits of output, step by step as its authors describe it. */
function halfSipHash(message: Uint8Array, [k0, k1]: readonly [number, number]): [number, number] {
  const v = new Uint32Array([0 ^ k0, 0xee ^ k1, 0x6c796765 ^ k0, 0x74656462 ^ k1])
  const add = (to: number, from: number) => {
    v[to] += v[from]
  }
  const rotate = (at: number, by: number) => {
    v[at] = Number(((BigInt(v[at]) << BigInt(by)) | (BigInt(v[at]) >> BigInt(32 - by))) & 0xffffffffn)
  }
  const mix = (a: number, b: number, by: number) => {
    add(a, b)
    rotate(b, by)
    v[b] ^= v[a]
  }
  const sipRound = () => {
    mix(0, 1, 5)
    rotate(0, 16)
    mix(2, 3, 8)
    mix(0, 3, 7)
    mix(2, 1, 13)
    rotate(2, 16)
  }
  const padded = new Uint8Array((message.length & ~3) + 4)
  padded.set(message)
  padded[padded.length - 1] = message.length & 255
  for (const word of new Uint32Array(padded.buffer)) {
    v[3] ^= word
    sipRound()
    v[0] ^= word
  }
  v[2] ^= 0xee
  for (let i = 0; i < 3; i++) sipRound()
  const low = (v[1] ^ v[3]) >>> 0
  v[1] ^= 0xdd
  for (let i = 0; i < 3; i++) sipRound()
  return [low, (v[1] ^ v[3]) >>> 0]
}

t.test('payloads of every length and alignment hash as described', async (t) => {
  const payloads = Array.from({ length: 300 }, (_, length) =>
    Uint8Array.from({ length }, (_, i) => (length * 31 + i * 7) & 255),
  )
  const bytes = Buffer.concat(payloads)
  const offsets = new Uint32Array(payloads.length + 1)
  for (let i = 0; i < payloads.length; i++) offsets[i + 1] = offsets[i] + payloads[i].length
  const seed = [0x12345678, 0xfedcba98] as const
  const rows = new Uint32Array(payloads.length * 4).fill(9)
  hashPayloads({ bytes, offsets }, seed, rows)
  payloads.forEach((payload, i) => {
    t.same([...rows.subarray(i * 4, i * 4 + 4)], [9, 9, ...halfSipHash(payload, seed)])
  })
})

t.test('the seed matters', async (t) => {
  const hash = (seed: readonly [number, number]) => {
    const rows = new Uint32Array(4)
    hashPayloads({ bytes: Buffer.from('payload'), offsets: new Uint32Array([0, 7]) }, seed, rows)
    return rows.join()
  }
  t.not(hash([1, 2]), hash([2, 1]))
  t.not(hash([1, 2]), hash([1, 3]))
})
