import { crc32 } from 'node:zlib'
import t, { type Test } from 'tap'
import { checksumInPieces, checksumOfAll, joinedChecksum } from '../../../persistence/disk/checksums.js'
import { encodeRecord, RecordKind } from '../../../persistence/disk/record.js'
import type { LogRecord } from '../../../persistence/log/log-records.js'
import { Store } from '../../../persistence/store.js'
import { Random, seedOfRun } from '../../random.js'

function randomOf(t: Test): Random {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  return new Random(seed)
}

t.test('the checksum of a whole from those of its parts', async (t) => {
  const random = randomOf(t)
  const lengths = [0, 1, 2, 3, 4, 7, 255, 256, 65_535, 65_536, 1_000_003]
  for (let round = 0; round < 60; round++) {
    const [first, second] = [0, 1].map(() => {
      const length = round < 20 ? random.pick(lengths) : random.below(5000)
      return Buffer.from(Uint8Array.from({ length }, () => random.below(256)))
    })
    const joined = joinedChecksum(crc32(first!), crc32(second!), second!.length)
    t.equal(joined, crc32(Buffer.concat([first!, second!])), `${first!.length} and ${second!.length} bytes`)
  }
  t.equal(joinedChecksum(crc32('a'), crc32('b'), 1), crc32('ab'))
  const parts = ['abc', '', 'd', 'ef'].map((text) => ({ checksum: crc32(text), bytes: Buffer.from(text) }))
  t.equal(checksumOfAll(parts), crc32('abcdef'))
  t.equal(checksumOfAll([]), crc32(''))
  t.equal(checksumOfAll([...parts, { bytes: new Uint8Array(0) }]), undefined)
})

t.test('the length of a second part has more than 32 bits', async (t) => {
  // Zeros are doubled, 2^33 times and one more.
  let bytes = 1
  let zeros = crc32(Buffer.alloc(1))
  for (; bytes < 2 ** 33; bytes *= 2) zeros = joinedChecksum(zeros, zeros, bytes)
  const byParts = joinedChecksum(joinedChecksum(crc32('a'), zeros, 2 ** 33), crc32('b'), 1)
  const tail = joinedChecksum(zeros, crc32('b'), 1)
  t.equal(byParts, joinedChecksum(crc32('a'), tail, 2 ** 33 + 1))
})

t.test('a column is gone through in pieces', async (t) => {
  const random = randomOf(t)
  const column = Uint8Array.from({ length: 2 ** 20 + 3 }, () => random.below(256))
  for (const length of [2 ** 18, 2 ** 18 + 1, 2 ** 20, 2 ** 20 + 3]) {
    const part = column.subarray(0, length)
    t.equal(await checksumInPieces(part), crc32(part), `${length} bytes`)
  }
  for (const length of [0, 1, 2 ** 18 - 1])
    t.equal(await checksumInPieces(column.subarray(0, length)), undefined)
})

t.test('a record is the same, whoever made the checksums of its sections', async (t) => {
  const random = randomOf(t)
  const key = Buffer.from('key')
  for (let round = 0; round < 30; round++) {
    const sections = Array.from({ length: random.below(4) }, () =>
      Uint8Array.from({ length: random.below(300) }, () => random.below(256)),
    )
    const known = sections.map((section) => (random.chance(0.5) ? crc32(Buffer.from(section)) : undefined))
    const expected = encodeRecord(RecordKind.write, key, { round }, sections)
    t.same(encodeRecord(RecordKind.write, key, { round }, sections, undefined, known), expected)
  }
})

t.test('batches whose checksums were made before are read back', async (t) => {
  const store = await Store.open(t.testdir())
  t.teardown(() => store.close())
  const { id } = await store.createIndex({ name: 'i', keyType: 'u32', payloadKind: 'u32', unique: false })
  const bytes = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8])
  const keys = { bytes, width: 4, checksum: crc32(bytes) }
  const cut = { bytes, offsets: Uint32Array.of(0, 3, 8), checksum: crc32(bytes) }
  const payloads = { bytes: bytes.toReversed(), width: 4, checksum: crc32(bytes.toReversed()) }
  const batches: readonly LogRecord[] = [
    { ops: 0, keys, payloads },
    { ops: 3, keys },
    { ops: Uint8Array.of(0, 3), keys: cut, payloads },
    { ops: 3, keys: cut },
  ]
  for (const batch of batches) await store.log.append(id, batch)
  let position = 0
  for await (const { ops, ...read } of store.log.read(id, 0)) {
    const expected = batches[position++]!
    t.same(
      typeof ops === 'number' ? ops : plain(ops),
      typeof expected.ops === 'number' ? expected.ops : plain(expected.ops),
    )
    t.same(
      [read.keys.bytes, read.payloads, read.keys.offsets].map(plain),
      [bytes, expected.payloads?.bytes, expected.keys.offsets].map(plain),
    )
  }
  t.equal(position, batches.length)
})

function plain(column: Uint8Array | Uint32Array | undefined): number[] | undefined {
  return column && [...column]
}
