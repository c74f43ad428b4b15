import type { JoinPass, JoinRequest } from '../../gpu/relational/joins/join-types.js'
import type { DeviceWork } from '../../gpu/relational/query/device-work.js'
import type { RowNumbers } from '../../gpu/relational/query/fetch.js'
import { type JoinKeys, joinKeys, type KeyedSide, sideBuffers } from '../../gpu/relational/query/join-keys.js'
import { Table } from '../../gpu/relational/query/table.js'
import { LIMITS } from '../../protocol/limits.js'
import type { JoinKind } from '../../protocol/query/tree.js'
import type { JoinCondition, TypedNode } from '../../protocol/query/typed.js'
import { type CountedPairs, joinByIndex } from './join-by-index.js'
import type { NodeOf } from './node-of.js'
import type { QueryRun } from './query-run.js'

/** What is joined, and how. */
export type JoinSpec = Pick<NodeOf<'join'>, 'kind' | 'algorithm'> & {
  readonly condition: JoinCondition
  /** Whether nulls are equal to each other; else to nothing. */
  readonly nullsEqual?: boolean
}

/** Makes the rows of a result out of pairs of row numbers. */
type MakeTable = (left: RowNumbers, right: RowNumbers | undefined, count: number) => Table

/** Joins two tables, as steps of a node: a table a pass, and one at least. The caller drops the two when it has all that it wants. */
export async function* joinTables(
  run: QueryRun,
  node: TypedNode,
  spec: JoinSpec,
  left: Table,
  right: Table,
): AsyncGenerator<Table, void, undefined> {
  const { work } = run
  const { kind } = spec
  const makeTable = tableMaker(work, kind, left, right)
  const byIndex = spec.nullsEqual
    ? undefined
    : await run.measure(node, () => joinByIndex(run, spec, left, right))
  const counted = byIndex ?? (await run.measure(node, () => joinByKeys(run, spec, left, right)))
  const { result, method, choice } = counted
  const letGo = run.keep(counted.buffers)
  Object.assign(run.figures(node), { method, join: choice })
  let tables = 0
  const step = (make: () => Table) => {
    tables++
    return run.step(node, [], make)
  }
  try {
    for await (const pass of result.passes()) yield await step(() => passTable(work, pass, makeTable))
    for (const without of rowsWithoutKey(work, kind, counted.left, counted.right)) {
      yield await step(() => makeTable(without.left, without.right, without.count))
    }
    const empty = { buffer: work.absent, outer: false }
    if (tables === 0) yield await step(() => makeTable(empty, empty, 0))
  } finally {
    result.destroy()
    letGo()
  }
}

async function joinByKeys(
  { work }: QueryRun,
  spec: JoinSpec,
  left: Table,
  right: Table,
): Promise<CountedPairs> {
  const keys = await joinKeys(work, left, right, spec.condition.pairs, spec.nullsEqual)
  const result = await work.kernels.joins.join(requestOf(spec, keys, work))
  const { algorithm, build } = result.choice
  return {
    result,
    left: keys.left,
    right: keys.right,
    buffers: [...sideBuffers(keys.left), ...sideBuffers(keys.right)],
    choice: result.choice,
    method: `${algorithm}, built on the ${build} side`,
  }
}

function requestOf(
  { kind, algorithm, condition: { width } }: JoinSpec,
  keys: JoinKeys,
  { scratch }: DeviceWork,
): JoinRequest {
  return {
    left: keys.left.side,
    right: keys.right.side,
    keyWords: keys.keyWords,
    kind,
    algorithm,
    passBytes: LIMITS.queryPassBytes,
    scratch,
    ...(width === undefined ? {} : { predicate: { type: 'band', delta: BigInt(width) } }),
  }
}

/** Semi and anti joins give rows of the left side only. */
function tableMaker(work: DeviceWork, kind: JoinKind, left: Table, right: Table): MakeTable {
  if (kind === 'semi' || kind === 'anti') return (numbers, _, count) => left.pick(work, numbers, count)
  const outer = { left: kind === 'right' || kind === 'full', right: kind === 'left' || kind === 'full' }
  return (leftNumbers, rightNumbers, count) => {
    const ofLeft = left.pick(work, { ...leftNumbers, outer: outer.left }, count)
    const numbers = rightNumbers ?? leftNumbers
    const ofRight = right.pick(work, { ...numbers, outer: outer.right }, count)
    return new Table(count, [...ofLeft.columns, ...ofRight.columns])
  }
}

/** The pass's memory is the next one's, so that its row numbers are copied. */
function passTable(work: DeviceWork, { left, right, count }: JoinPass, makeTable: MakeTable): Table {
  const copied = (numbers: GPUBuffer) => {
    const buffer = work.words(count)
    work.recorder.copy(numbers, 0, buffer, 0, count * 4)
    return { buffer, outer: false }
  }
  return makeTable(copied(left), right && copied(right), count)
}

/** Rows with a null in their key, which are in the result where rows without a partner are. */
function* rowsWithoutKey(
  work: DeviceWork,
  kind: JoinKind,
  left: Pick<KeyedSide, 'without'>,
  right: Pick<KeyedSide, 'without'>,
): Generator<{ readonly left: RowNumbers; readonly right: RowNumbers | undefined; readonly count: number }> {
  const none = (count: number) => {
    const buffer = work.words(count)
    work.kernels.primitives.fill(work.recorder, buffer, count, 0xffffffff)
    return { buffer, outer: true }
  }
  if (kind !== 'inner' && kind !== 'semi' && kind !== 'right' && left.without !== undefined) {
    const { numbers, count } = left.without
    if (count > 0) yield { left: numbers, right: kind === 'anti' ? undefined : none(count), count }
  }
  if ((kind === 'right' || kind === 'full') && right.without !== undefined) {
    const { numbers, count } = right.without
    if (count > 0) yield { left: none(count), right: numbers, count }
  }
}
