import { LIMITS } from '../limits.js'
import { columnNumber } from './check-expression.js'
import { castAdvice } from './mismatch.js'
import { faultAt, type NodeReader } from './node-reader.js'
import { JOIN_ALGORITHMS, JOIN_KINDS, type JoinKind, type ResultColumn } from './tree.js'
import type { JoinCondition, TypedNode } from './typed.js'

/** @throws WarpdexError `BAD_REQUEST` */
export function checkJoin(reader: NodeReader, left: TypedNode, right: TypedNode): TypedNode {
  const kind = reader.choice('kind', JOIN_KINDS, 'inner')
  const algorithm = reader.choice('algorithm', JOIN_ALGORITHMS, 'auto')
  if (reader.has('on') === reader.has('band')) {
    throw reader.fault('a join has either "on", pairs of columns that are equal, or a "band"')
  }
  if (algorithm === 'hj' && reader.has('band')) {
    throw reader.fault('a hash join finds equal keys only; a band takes ninlj, inlj or smj')
  }
  const condition = reader.has('on') ? equality(reader, left, right) : band(reader, left, right)
  const columns = joinedColumns(kind, left.columns, right.columns)
  const { path } = reader
  return { op: 'join', left, right, kind, condition, algorithm, kept: [...columns.keys()], columns, path }
}

function equality(reader: NodeReader, left: TypedNode, right: TypedNode): JoinCondition {
  const pairs = reader.list('on', 1, LIMITS.queryKeys).map((pair: unknown, i) => {
    const path = `${reader.path}.on[${i}]`
    const [leftName, rightName, ...others] = Array.isArray(pair) ? (pair as unknown[]) : []
    if (typeof leftName !== 'string' || typeof rightName !== 'string' || others.length > 0) {
      throw faultAt(path, 'a pair of column names is needed, that of the left side first')
    }
    const leftColumn = columnNumber(`${path}[0]`, leftName, left.columns)
    const rightColumn = columnNumber(`${path}[1]`, rightName, right.columns)
    return alike(path, left, right, [leftColumn, rightColumn])
  })
  return { pairs, width: undefined }
}

/** Bands are of one word: what He et al. §4 compare. */
function band(reader: NodeReader, left: TypedNode, right: TypedNode): JoinCondition {
  const band = reader.child('band')
  const leftColumn = columnNumber(`${band.path}.left`, band.text('left'), left.columns)
  const rightColumn = columnNumber(`${band.path}.right`, band.text('right'), right.columns)
  const pair = alike(band.path, left, right, [leftColumn, rightColumn])
  const { type } = left.columns[leftColumn]!
  if (type !== 'u32' && type !== 'i32')
    throw band.fault(`a band needs columns of type u32 or i32, not ${type}`)
  const width = band.whole('width', 2 ** 32 - 1)
  band.finish()
  return { pairs: [pair], width }
}

function alike(
  path: string,
  left: TypedNode,
  right: TypedNode,
  pair: readonly [number, number],
): readonly [number, number] {
  const columns = [left.columns[pair[0]]!, right.columns[pair[1]]!]
  const types = columns.map(({ type }) => type)
  if (types[0] === types[1]) return pair
  const named = columns.map(({ name, type }) => `column "${name.slice(0, 80)}" is ${type}`).join(', ')
  const advice = castAdvice(types, 'a projection with a cast makes them alike')
  throw faultAt(path, `${types.join(' and ')} cannot be compared: ${named}${advice}`)
}

/** Whoever may be without a partner gets nulls for the other side's columns. */
function joinedColumns(
  kind: JoinKind,
  left: readonly ResultColumn[],
  right: readonly ResultColumn[],
): readonly ResultColumn[] {
  if (kind === 'semi' || kind === 'anti') return left
  const padded = (columns: readonly ResultColumn[], kinds: readonly JoinKind[]) =>
    kinds.includes(kind) ? columns.map((column) => ({ ...column, nullable: true })) : columns
  return [...padded(left, ['right', 'full']), ...padded(right, ['left', 'full'])]
}
