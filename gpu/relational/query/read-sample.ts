import { asBytes } from '../../../protocol/columns.js'
import type { DeviceRelation } from '../device-relation.js'
import type { RelationSample, SampledColumn } from '../relation-sample.js'
import type { DeviceWork } from './device-work.js'
import { valueWords } from './query-column.js'

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
  const read = await work.readColumns(
    fetched.flatMap(({ type, values, validity }) => [
      { buffer: values, bytes: count * valueWords(type) * 4 },
      ...(validity === undefined ? [] : [{ buffer: validity, bytes: Math.ceil(count / 32) * 4 }]),
    ]),
  )
  const parts = read.values()
  fetched.forEach(({ validity, dictionary }, i) => {
    const sampled: SampledColumn = {
      words: wordsOf(parts.next().value!),
      validity: validity && wordsOf(parts.next().value!),
      dictionary,
    }
    sample.columns.set(missing[i]!, sampled)
  })
  return sample
}

/** A copy: what is read lies in memory that is lent. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.slice().buffer)
}
