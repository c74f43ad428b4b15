import type { KnownIndex } from './known-index.js'
import type { SentWrite, World } from './world.js'

/** Items of a batch at most. */
const MOST_ITEMS = 300

/** A batch for an index, which its model has taken. */
export function newWrite(
  world: World,
  known: KnownIndex,
): { readonly write: SentWrite; readonly isNamed: boolean } {
  const { random } = world
  const { columns, batch } = known.randomWrite(random, MOST_ITEMS, 0.4)
  const isNamed = random.chance(0.5)
  const id = isNamed ? world.newId() : undefined
  const planned = known.model.plan(batch)
  known.apply(planned)
  const send = async () => Uint8Array.from(await known.index.write(columns, id))
  return { write: { about: [known], send, answer: planned.codes }, isNamed }
}

export function write(world: World): void {
  const known = world.pickIndex()
  if (known === undefined) return
  const { write, isNamed } = newWrite(world, known)
  world.write(write, isNamed)
}

export function deleteRange(world: World): void {
  const { random } = world
  const known = world.pickIndex()
  if (known === undefined) return
  const bound = () => (random.chance(0.2) ? undefined : known.keySpace.bounds(1))
  const [from, to] = [bound(), bound()]
  const exclusions = { fromExclusive: random.chance(0.3), toExclusive: random.chance(0.3) }
  const ends = { from: from?.bytes, to: to?.bytes }
  const offsets = { fromOffsets: from?.offsets, toOffsets: to?.offsets }
  const answer = known.model.deleteRange({ ...ends, ...offsets, ...exclusions })
  const id = random.chance(0.5) ? world.newId() : undefined
  const send = () => known.index.deleteRange({ ...ends, ...exclusions }, id)
  world.write({ about: [known], send, answer }, id !== undefined)
}

/** A load in a few parts, each of which names the one before it. */
export function load(world: World): void {
  const known = world.pickIndex()
  if (known === undefined) return
  let after: number | undefined
  for (let part = 0; part < 3; part++) {
    const { columns, batch } = known.randomWrite(world.random, MOST_ITEMS, 1)
    const planned = known.model.plan(batch)
    known.apply(planned)
    const id = world.newId()
    const before = after
    const send = async () => {
      const { inserted, existing } = await known.index.load(columns, { after: before }, id)
      return [inserted, existing]
    }
    const answer = [0, 2].map((code) => planned.codes.filter((given) => given === code).length)
    world.write({ about: [known], send, answer }, true)
    after = id.number
  }
}

/** A write that was done is answered as it was at first. */
export function resend(world: World): void {
  if (world.sent.length === 0) return
  const { about, send, answer } = world.random.pick(world.sent)
  if (about.every((each) => world.has(each))) world.expect(send(), answer, 'a write that is sent again')
}
