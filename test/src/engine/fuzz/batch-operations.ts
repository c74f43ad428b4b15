import { concatenate, valuesOf } from '../../../../protocol/columns.js'
import type { WarpdexError } from '../../../../protocol/errors.js'
import { Condition } from '../../../../protocol/types.js'
import type { Random } from '../../../random.js'
import type { KnownIndex } from './known-index.js'
import type { World } from './world.js'

/** Items for an index, and rows for a relation, at most. */
const MOST_ITEMS = 300
const MOST_ROWS = 100

/** Writes to several indexes and relations, if conditions on some indexes hold: all or none. */
export function batch(world: World): void {
  const { random } = world
  const some = (all: Iterable<KnownIndex>) => [...all].filter(() => random.chance(0.5))
  const to = some(world.writable()).map((known) => ({ known, ...known.randomWrite(random, MOST_ITEMS, 0.4) }))
  const rows = [...world.relations.values()]
    .filter(() => random.chance(0.3))
    .map((known) => ({ known, ...known.randomRows(random, MOST_ROWS) }))
  const expected = some(world.indexes.values()).map((known) => randomConditions(random, known))
  const failed = expected.flatMap(({ holds }) => holds).indexOf(false)
  const id = random.chance(0.5) ? world.newId() : undefined
  const send = async () => {
    const writes = to.map(({ known: { index }, columns }) => ({ index, columns }))
    const appends = rows.map(({ known: { relation }, batch }) => ({ relation, rows: batch }))
    const conditions = expected.map(({ known: { index }, ...rest }) => ({ index, ...rest }))
    const { codes, appended } = await world.engine.writeBatch({ writes, appends, conditions }, id)
    return { codes: Uint8Array.from(codes), appended }
  }
  if (failed >= 0) {
    const failure = { code: 'CONDITION_FAILED', item: failed }
    world.expect(failureOf(send()), failure, 'a batch whose conditions do not hold')
    return
  }
  const planned = to.map(({ known, batch }) => known.model.plan(batch))
  for (const [i, { known }] of to.entries()) known.apply(planned[i]!)
  const answer = {
    codes: concatenate(planned.map(({ codes }) => codes)),
    appended: rows.map(({ known, values }) => known.append(values)),
  }
  const about = [...to, ...rows, ...expected].map(({ known }) => known)
  world.write({ about, send, answer }, id !== undefined && to.length + rows.length > 0)
}

/** Conditions on an index, and which of them hold. */
function randomConditions(random: Random, known: KnownIndex) {
  const keys = known.keySpace.column(random.pick([1, 3]))
  const { found, payloads } = known.model.answer({ op: 'get' }, { keys })
  const isFound = valuesOf(keys).map((_, i) => ((found[i >> 3]! >> (i & 7)) & 1) === 1)
  const kinds = isFound.map((is) => {
    if (random.chance(0.1)) return random.pick([Condition.absent, Condition.present])
    return is ? random.pick([Condition.present, Condition.payload]) : Condition.absent
  })
  const holds = kinds.map((kind, i) => isFound[i] === (kind !== Condition.absent))
  return {
    known,
    keys,
    holds,
    conditions: { kinds: Uint8Array.from(kinds), payloads: known.payloadsOf(payloads), sequences: undefined },
  }
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    ({ code, item }: WarpdexError) => ({ code, item }),
  )
}
