import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { countOf } from '../../protocol/columns.js'
import { LoadError, loadParts, NO_ROWS, runLoad } from '../../protocol/load.js'
import type { WriteItems } from '../../protocol/write-pieces.js'
import { Random, seedOfRun } from '../random.js'

const FIXED = { keys: 4, payloads: 2 }
const VARIABLE = { keys: undefined, payloads: undefined }

function column(rows: readonly number[], width: number | undefined): WriteItems['keys'] {
  if (width !== undefined)
    return { bytes: Uint8Array.from(rows.flatMap((row) => Array(width).fill(row))), width }
  const offsets = new Uint32Array(rows.length + 1)
  for (const [i, row] of rows.entries()) offsets[i + 1] = offsets[i] + row
  return { bytes: Uint8Array.from(rows.flatMap((row) => Array(row).fill(row))), offsets }
}

function bytesOf({ keys, payloads }: WriteItems): number {
  const columns = [keys, payloads ?? keys]
  return columns.reduce((sum, one) => sum + one.bytes.byteLength + (one.offsets?.byteLength ?? 0), 0)
}

t.test('batches become parts within the limits, with the same rows', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  for (let round = 0; round < 60; round++) {
    const widths = random.chance(0.5) ? FIXED : VARIABLE
    const limits = { rows: 1 + random.below(9), bytes: 20 + random.below(100) }
    const batches = Array.from({ length: random.below(6) }, () => {
      const rows = Array.from({ length: random.pick([0, 1, limits.rows, 30]) }, () => random.below(12))
      return { keys: column(rows, widths.keys), payloads: column(rows, widths.payloads) }
    })
    const parts: WriteItems[] = []
    for await (const part of loadParts(batches, limits)) parts.push(part)
    const all = (items: readonly WriteItems[], which: 'keys' | 'payloads') =>
      items.flatMap((one) => [...(one[which]?.bytes ?? [])])
    for (const which of ['keys', 'payloads'] as const) t.same(all(parts, which), all(batches, which))
    for (const part of parts) {
      const rows = countOf(part.keys)
      t.ok(rows === 1 || (rows <= limits.rows && bytesOf(part) <= limits.bytes), `${rows} rows`)
      t.ok(rows > 0)
    }
  }
})

t.test('parts are sent in order, up to a load of one at a time', async (t) => {
  let load = 0
  let most = 0
  const sent: number[] = []
  async function* parts() {
    yield* [0.4, 0.4, 0.4, 3, 0.1, 0.5]
  }
  const result = await runLoad({
    parts: parts(),
    share: (part) => part,
    send: async (part) => {
      sent.push(part)
      load += part
      most = Math.max(most, load)
      await setImmediate()
      load -= part
      return { ...NO_ROWS, rows: 1, inserted: 1 }
    },
  })
  t.same(sent, [0.4, 0.4, 0.4, 3, 0.1, 0.5])
  t.equal(most, 3, 'one that is larger goes alone')
  t.match(result, { rows: 6, inserted: 6 })
})

t.test(
  'after a failure nothing is sent, what is under way is waited for, and the source is closed',
  async (t) => {
    let closed = false
    let sent = 0
    async function* parts() {
      try {
        for (let i = 0; ; i++) yield i
      } finally {
        closed = true
      }
    }
    const load = runLoad({
      parts: parts(),
      share: () => 0.3,
      send: async (part) => {
        sent++
        await setImmediate()
        if (part > 3) throw new Error(`part ${part}`)
        return { ...NO_ROWS, rows: 1 }
      },
    })
    const error = await load.catch((thrown: unknown) => thrown)
    t.ok(error instanceof LoadError)
    t.match(error, {
      code: 'INTERNAL',
      message: 'part 4; the first 4 rows of the load are stored',
      stored: { rows: 4 },
    })
    t.ok(sent <= 7, `${sent} parts`)
    t.equal(closed, true)
  },
)
