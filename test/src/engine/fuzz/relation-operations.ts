import { comparableRows, type KnownRelation } from './known-relation.js'
import type { SentWrite, World } from './world.js'

const NAMES = ['r', 's', 't'] as const
/** Rows of an append at most. */
const MOST_ROWS = 300

export async function createRelation(world: World): Promise<void> {
  const free = NAMES.filter((name) => !world.relations.has(name))
  if (free.length > 0) await world.createRelation(world.random.pick(free))
}

/** Rows for a relation, which its model has taken. */
export function newAppend(
  world: World,
  known: KnownRelation,
): { readonly write: SentWrite; readonly isNamed: boolean } {
  const { batch, values } = known.randomRows(world.random, MOST_ROWS)
  const isNamed = world.random.chance(0.5)
  const id = isNamed ? world.newId() : undefined
  const answer = known.append(values)
  return { write: { about: [known], send: () => known.relation.append(batch, id), answer }, isNamed }
}

export function append(world: World): void {
  const known = world.pickRelation()
  if (known === undefined) return
  const { write, isNamed } = newAppend(world, known)
  world.write(write, isNamed)
}

export function readRows(world: World): void {
  const known = world.pickRelation()
  if (known === undefined) return
  const request = known.randomRead(world.random)
  const rows = known.relation.read(request).then(comparableRows)
  const what = `${JSON.stringify(request)} of ${JSON.stringify(known.definition)}`
  world.expect(rows, known.answer(request), what)
}

export function dropRelation(world: World): void {
  const known = world.pickRelation()
  if (known === undefined) return
  const { name } = known.definition
  world.note(`drop relation ${name}`)
  world.expect(world.engine.dropRelation(name), true, 'a drop of a relation')
  world.relations.delete(name)
  for (const [index, each] of world.indexes) if (known.over.has(each)) world.indexes.delete(index)
}
