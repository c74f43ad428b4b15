import t from 'tap'
import { KEY_TYPES, KeySpace } from '../../../clients/load-test/key-space.js'
import { PayloadSpace, WRONG } from '../../../clients/load-test/payload-space.js'
import type { PayloadKind } from '../../../protocol/types.js'
import { Random, seedOfRun } from '../../random.js'

const COUNT = 20_000

t.test('keys of every type: different ones, the same for the same seed', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const items = Uint32Array.from({ length: COUNT }, (_, i) => i)
  for (const keyType of KEY_TYPES) {
    const space = new KeySpace(keyType, seed)
    const words = new Uint32Array(COUNT * space.words)
    space.write(items, COUNT, words)
    const again = new Uint32Array(space.words)
    new KeySpace(keyType, seed).write(Uint32Array.of(4711), 1, again)
    t.same(again, words.slice(4711 * space.words, 4712 * space.words))
    const column = space.column(words, COUNT)
    if ('offsets' in column) {
      t.equal(column.offsets.length, COUNT + 1)
      t.equal(column.offsets[COUNT], column.bytes.length)
      const keys = new Set(
        Array.from({ length: COUNT }, (_, i) =>
          Buffer.from(column.bytes.subarray(column.offsets[i], column.offsets[i + 1])).toString('latin1'),
        ),
      )
      t.equal(keys.size, COUNT, keyType)
      if (keyType === 'string') t.ok([...keys].every((key) => /^user[0-9a-f]{16}$/.test(key)))
    } else {
      t.equal(new Set(column).size, COUNT, keyType)
      t.notOk([...column].some((key) => Number.isNaN(Number(key))))
    }
  }
})

t.test('a payload says which key and version it is of', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const kinds: PayloadKind[] = [
    'u32',
    'u64',
    'bytes',
    'fixed(1)',
    'fixed(3)',
    'fixed(8)',
    'fixed(13)',
    'fixed(16)',
  ]
  for (const kind of kinds) {
    const space = new PayloadSpace(kind, 101)
    const rows = space.room(10)
    const hashes = Array.from({ length: 10 }, () => random.word())
    hashes.forEach((hash, i) => {
      space.write(rows, i, hash, 1000 + i)
    })
    hashes.forEach((hash, i) => {
      const row = rows.slice(i * space.width, (i + 1) * space.width)
      t.equal(space.version(row, hash), space.versioned ? 1000 + i : 0, kind)
      t.equal(space.version(row, ~hash >>> 0), WRONG, `${kind}: of another key`)
      t.equal(space.version(row.subarray(1), hash), WRONG, `${kind}: too short`)
      if (!space.versioned) return
      row[random.below(row.length)] ^= 1 << random.below(8)
      t.equal(space.version(row, hash), WRONG, `${kind}: a bit is wrong`)
    })
  }
})
