import type { DeviceRelation } from '../../../gpu/relational/device-relation.js'
import type { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import { sampleOf } from '../../../gpu/relational/query/read-sample.js'
import { inputsOf, type TypedNode } from '../../../protocol/query/typed.js'
import { columnSample } from './column-sample.js'
import type { StoredColumnFacts, StoredFacts } from './estimate-tree.js'

/**
 * What is known of the relations of a tree, those columns that it reads with their samples. What no query has asked for yet is read from the device, which
 * is waited for.
 */
export async function readStoredFacts(
  work: DeviceWork,
  relations: ReadonlyMap<string, DeviceRelation>,
  root: TypedNode,
): Promise<ReadonlyMap<string, StoredFacts>> {
  const read = columnsRead(root)
  const facts = new Map<string, StoredFacts>()
  for (const [name, relation] of relations) {
    const columns = [...relation.columns.keys()].filter((_, number) => read.get(name)?.has(number))
    facts.set(name, await factsOf(work, relation, columns))
  }
  return facts
}

/** Numbers of the columns that scans give, by relation. */
function columnsRead(root: TypedNode): ReadonlyMap<string, ReadonlySet<number>> {
  const read = new Map<string, Set<number>>()
  const visit = (node: TypedNode) => {
    if (node.op === 'scan') {
      read.set(node.relation, new Set([...(read.get(node.relation) ?? []), ...node.kept]))
    }
    for (const input of inputsOf(node)) visit(input)
  }
  visit(root)
  return read
}

async function factsOf(
  work: DeviceWork,
  relation: DeviceRelation,
  names: readonly string[],
): Promise<StoredFacts> {
  const sample = await sampleOf(work, relation, names)
  const indexed = await indexedKeys(relation)
  const columns = Array.from(
    relation.columns,
    ([name, { type, dictionary, validity }]): StoredColumnFacts => {
      const sampled = sample?.columns.get(name)
      return {
        type,
        dictionary,
        nullable: validity !== undefined,
        sample: sample && sampled && columnSample(sample, sampled, type),
        indexed: indexed.get(name),
      }
    },
  )
  return { rows: relation.rows, columns }
}

/** The different values of columns that have an index, as far as indexes are at hand. */
async function indexedKeys({ indexes = [] }: DeviceRelation): Promise<ReadonlyMap<string, number>> {
  const keys = new Map<string, number>()
  for (const { columns, use } of indexes) {
    const [name] = columns
    if (name === undefined || columns.length > 1) continue
    const count = await use(async (structure) => structure.stats().keys)
    if (count !== undefined) keys.set(name, count)
  }
  return keys
}
