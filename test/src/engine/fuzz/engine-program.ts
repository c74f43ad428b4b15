import type { Random } from '../../../random.js'
import { OPERATIONS } from './operations.js'
import { World, type WorldOptions } from './world.js'

const FIRST_NAMES = ['a', 'b', 'c']
const FIRST_RELATION = 'r'

/**
 * Runs a random program against an engine, with much under way at a time, and compares every answer with that of plain models.
 * @returns how many answers were compared
 * @throws Error that names the last operations
 */
export async function runEngine(random: Random, options: WorldOptions, steps: number): Promise<number> {
  const world = await World.open(random, options)
  try {
    for (const name of FIRST_NAMES) await world.createIndex(name)
    await world.createRelation(FIRST_RELATION)
    for (let step = 0; step < steps; step++) {
      const [name, { isAlone, run }] = pick(random)
      world.note(name)
      if (isAlone === true) await world.settle()
      await run(world)
    }
    await world.checkAll()
    if (options.isReplicated === true) {
      await world.goOnWithFollower()
      await world.checkAll()
    }
  } catch (error) {
    throw new Error(`the last steps were: ${world.notes.join(', ')}`, { cause: error })
  } finally {
    await world.engine.close()
  }
  return world.checks
}

function pick(random: Random): readonly [string, (typeof OPERATIONS)[string]] {
  const operations = Object.entries(OPERATIONS)
  let at = random.below(operations.reduce((sum, [, { weight }]) => sum + weight, 0))
  for (const operation of operations) {
    at -= operation[1].weight
    if (at < 0) return operation
  }
  throw new Error('there are no operations')
}
