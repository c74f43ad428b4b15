import type { Device } from '../../../gpu/device/device.js'
import type { Arena } from '../../../gpu/index/arena.js'
import { type Parts, partsFor } from '../../../gpu/index/parts.js'
import { WriteOp } from '../../../protocol/types.js'
import { byTurns } from '../../kernel-time.js'
import { gatherKeys, type KeyBlob, numberedPayloads, pickKeys } from '../../keys.js'
import { leastAndMost, median } from '../../report.js'
import { orOmitted } from './contest.js'
import { DATA_SETS, sliceKeys } from './data-sets.js'
import type { DeviceTools } from './device-subject.js'
import type { FigureRow } from './figures.js'
import type { Plan } from './plan.js'
import { CASES, insertedArena, SHAPE, type TreeCase } from './tree-subject.js'

/** What is done by strategy besides lookups. */
export type Operation = 'inserts' | 'getNext'

interface Tree {
  readonly tree: TreeCase
  readonly parts: Parts
  arena: Arena
  /** Has its keys and nothing else again, without what deleted ones have left. */
  readonly plantAgain: () => Promise<void>
  /** Microseconds of a key of the last batch that was measured. */
  each: number
}

/** Microseconds of one run of a batch. */
type Once = () => Promise<number>

/**
 * Inserts and getNext by every traversal, in an index of random keys, the largest of the plan: from the call until the answers are on the
 * host, and for inserts until the device is done. Every answer is compared with the host's.
 */
export async function measureOperation(
  { device, warm }: DeviceTools,
  { sizes, batches, effort, mostSeconds }: Plan,
  figure: Operation,
): Promise<FigureRow[]> {
  const set = DATA_SETS.a
  const keys = sizes.at(-1)!
  const { trees, omitted } = await plant(device, set.keys(keys))
  const rows: FigureRow[] = []
  try {
    for (const batch of batches.filter((size) => size <= keys)) {
      const onceOf =
        figure === 'inserts'
          ? insertion(
              device.workDone.bind(device),
              keys,
              sliceKeys(set.keys(keys + batch), keys, keys + batch),
            )
          : following(set.keys(keys), pickKeys(set.keys(keys), keys, batch))
      // One order of cells for all rows, whichever are omitted.
      const figures: Record<string, number | string> = Object.fromEntries(
        CASES.map(({ name }) => [name, omitted[name] ?? '']),
      )
      const runs: { one: Tree; once: Once }[] = []
      for (const one of trees) {
        const { name } = one.tree
        const expected = (one.each * batch) / 1e6
        const once = onceOf(one)
        // Compiles kernels, and tells what there is no memory for.
        const ready = await orOmitted(async () => {
          if (expected > mostSeconds) return `omitted: about ${expected.toPrecision(2)} s`
          await once()
          return undefined
        })
        if (ready === undefined) runs.push({ one, once })
        else figures[name] = ready
      }
      const taken = await byTurns(
        effort,
        runs.map(
          ({ once }) =>
            () =>
              warm.run(once),
        ),
      )
      const spread: Record<string, readonly [number, number]> = {}
      for (const [i, { one }] of runs.entries()) {
        const microseconds = median(taken[i]!)
        one.each = microseconds / batch
        figures[one.tree.name] = microseconds
        spread[one.tree.name] = leastAndMost(taken[i]!)
      }
      const name = `${figure} ${set.name}, ${keys} keys, batch ${batch}`
      const repeats = Math.min(...taken.map(({ length }) => length))
      rows.push({ name, keys, batch, unit: 'microseconds', repeats, clocks: ['host'], figures, spread })
    }
  } finally {
    for (const { arena } of trees) arena.destroy()
  }
  return rows
}

/** Trees of all cases with these keys, but for those that are too large for the device, with the reason. */
async function plant(
  device: Device,
  keys: KeyBlob,
): Promise<{ readonly trees: readonly Tree[]; readonly omitted: Readonly<Record<string, string>> }> {
  const trees: Tree[] = []
  const omitted: Record<string, string> = {}
  for (const tree of CASES) {
    const shape = { ...SHAPE, ...tree.layout }
    const parts = await partsFor(device, shape)
    const filled = () => insertedArena(device, shape, parts.writer, keys)
    const arena = await orOmitted(filled)
    if (typeof arena === 'string') {
      omitted[tree.name] = arena
      continue
    }
    const plantAgain = async () => {
      planted.arena.destroy()
      planted.arena = await filled()
    }
    const planted: Tree = { tree, parts, arena, plantAgain, each: 0 }
    trees.push(planted)
  }
  return { trees, omitted }
}

/** Inserts keys that are not there, reads them back, and deletes them again; only the first is timed. */
function insertion(workDone: () => Promise<unknown>, keys: number, added: KeyBlob): (tree: Tree) => Once {
  const count = added.offsets.length - 1
  const payloads = { bytes: numberedPayloads(1, keys, count), width: 4 }
  return (tree) => {
    /** Bytes that deleted keys have left. */
    let left = 0
    const plantAgain = async () => {
      await tree.plantAgain()
      left = 0
    }
    const once = async (): Promise<number> => {
      const { arena, parts } = tree
      const plan = await planOf(tree)
      const { usedBytes } = arena
      const start = performance.now()
      const prepare = () => parts.writer.prepare(arena, { ops: WriteOp.insert, keys: added, payloads }, plan)
      const prepared = left === 0 ? await prepare() : await orOmitted(prepare)
      if (typeof prepared === 'string') {
        await plantAgain()
        return once()
      }
      prepared.apply()
      await workDone()
      const microseconds = (performance.now() - start) * 1e3
      const searched = { arena, keys: keys + count, plan: undefined }
      const read = await parts.reads.operations.get.run(searched, { op: 'get' }, { keys: added, count })
      compare(tree, read.payloads.bytes, payloads.bytes)
      const removed = await parts.writer.prepare(arena, { ops: WriteOp.deleteKey, keys: added, payloads })
      removed.apply()
      await workDone()
      left += arena.usedBytes - usedBytes
      if (left > usedBytes / 4) await plantAgain()
      return microseconds
    }
    return once
  }
}

/** The entry after each key. */
function following(all: KeyBlob, asked: KeyBlob): (tree: Tree) => Once {
  const keys = all.offsets.length - 1
  const count = asked.offsets.length - 1
  const wanted = successors(all, asked)
  return (tree) => async () => {
    const { arena, parts } = tree
    const searched = { arena, keys, plan: await planOf(tree) }
    const start = performance.now()
    const next = await parts.reads.operations.getNext.run(searched, { op: 'getNext' }, { keys: asked, count })
    const microseconds = (performance.now() - start) * 1e3
    compare(tree, next.keys.bytes, wanted)
    return microseconds
  }
}

/** The bytes of the keys after those that are asked for, without those behind the last. */
function successors(all: KeyBlob, asked: KeyBlob): Uint8Array {
  const textOf = ({ bytes, offsets }: KeyBlob, i: number) =>
    Buffer.from(bytes.subarray(offsets[i], offsets[i + 1])).toString('latin1')
  const texts = Array.from({ length: all.offsets.length - 1 }, (_, i) => textOf(all, i))
  const order = [...texts.keys()].sort((a, b) => (texts[a]! < texts[b]! ? -1 : 1))
  const ranks = new Map(order.map((number, rank) => [texts[number]!, rank]))
  const numbers = Array.from(
    { length: asked.offsets.length - 1 },
    (_, i) => order[ranks.get(textOf(asked, i))! + 1],
  )
  return gatherKeys(all, Uint32Array.from(numbers.filter((number) => number !== undefined))).bytes
}

async function planOf({ tree: { traversal }, parts, arena }: Tree) {
  return traversal.strategy === 'sequential' ? undefined : parts.locator?.plan(arena, traversal)
}

function compare({ tree: { name } }: Tree, found: Uint8Array, wanted: Uint8Array): void {
  if (Buffer.compare(found, wanted) !== 0) throw new Error(`${name}: an answer is not the host's`)
}
