import t from 'tap'
import {
  areEqual,
  between,
  complement,
  intersectionOf,
  isEmpty,
  isWithin,
  unionOf,
} from '../../../../gpu/relational/expressions/value-sets.js'
import type { ValueSet } from '../../../../gpu/relational/selection/selection-types.js'
import { Random, seedOfRun } from '../../../random.js'
import { hasValue } from '../../../src/query/conditions/condition-model.js'

const LAST = 40n

/** Every value of a small domain, and null, that a set has: a plain model. */
type Model = ReadonlySet<bigint | null>

const ALL: readonly (bigint | null)[] = [
  null,
  ...Array.from({ length: Number(LAST) + 1 }, (_, i) => BigInt(i)),
]

function modelOf(set: ValueSet): Model {
  return new Set(ALL.filter((value) => (value === null ? set.nulls : hasValue(set, value))))
}

function randomSet(random: Random): ValueSet {
  const sets = Array.from({ length: random.below(6) }, () => {
    const low = BigInt(random.below(Number(LAST) + 1))
    const high = low + BigInt(random.below(6))
    return { intervals: [{ low, high: high > LAST ? LAST : high }], nulls: false }
  })
  return { ...unionOf(sets), nulls: random.chance(0.3) }
}

function isNormal({ intervals }: ValueSet): boolean {
  return intervals.every(({ low, high }, i) => low <= high && (i === 0 || intervals[i - 1]!.high + 1n < low))
}

t.test('sets of values are what sets of their elements are', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const failures: string[] = []
  const check = (what: string, set: ValueSet, wanted: (value: bigint | null) => boolean) => {
    const model = new Set(ALL.filter(wanted))
    const found = modelOf(set)
    const same = found.size === model.size && [...found].every((value) => model.has(value))
    if (!same || !isNormal(set)) failures.push(what)
  }
  for (let round = 0; round < 300; round++) {
    const sets = Array.from({ length: 1 + random.below(4) }, () => randomSet(random))
    const models = sets.map(modelOf)
    check('union', unionOf(sets), (value) => models.some((model) => model.has(value)))
    check('intersection', intersectionOf(sets, LAST), (value) => models.every((model) => model.has(value)))
    check('complement', complement(sets[0]!, LAST), (value) => !models[0]!.has(value))
    const other = random.chance(0.5) ? unionOf(sets) : randomSet(random)
    const within = [...models[0]!].every((value) => modelOf(other).has(value))
    if (isWithin(sets[0]!, other) !== within) failures.push('within')
    const equal = within && modelOf(other).size === models[0]!.size
    if (areEqual(sets[0]!, other) !== equal) failures.push('equal')
    if (isEmpty(sets[0]!) !== (models[0]!.size === 0)) failures.push('empty')
    const values = ALL.slice(1).every((value) => models[0]!.has(value))
    if (isWithin(between(0n, LAST), sets[0]!) !== values) failures.push('all')
  }
  t.same(failures, [])
})
