import { asBytes } from '../../../protocol/columns.js'
import type { DeviceRelation } from '../device-relation.js'
import type { RelationSample } from '../relation-sample.js'
import type { DeviceWork } from './device-work.js'
import { readValues } from './read-values.js'

/**
 * A relation's sample with some columns. What it does not have yet is read from the device, all in one go.
 * @returns undefined where nobody keeps samples of the relation
 */
export async function sampleOf(
  work: DeviceWork,
  { rows, columns, sample: keeper }: DeviceRelation,
  names: readonly string[],
): Promise<RelationSample | undefined> {
  const sample = keeper?.at(rows)
  if (sample === undefined) return undefined
  const missing = names.filter((name) => !sample.columns.has(name))
  if (missing.length === 0) return sample
  const count = sample.rows.length
  const numbers = { buffer: work.upload(asBytes(sample.rows)), outer: false }
  const fetched = missing.map((name) => work.kernels.fetch.values(work, columns.get(name)!, numbers, count))
  const read = await readValues(work, fetched, 0, count)
  read.forEach(({ source: { dictionary }, values, validity }, i) => {
    const sampled = { words: wordsOf(values), validity: validity && wordsOf(validity), dictionary }
    sample.columns.set(missing[i]!, sampled)
  })
  return sample
}

/** A copy: what is read lies in memory that is lent. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.slice().buffer)
}
