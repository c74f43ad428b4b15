import { LIMITS } from '../limits.js'
import { columnName } from './check-columns.js'
import { checkCondition, columnNumber } from './check-expression.js'
import { castAdvice } from './mismatch.js'
import { faultAt, type NodeReader } from './node-reader.js'
import {
  JOIN_ALGORITHMS,
  type JoinAlgorithm,
  type JoinKind,
  type ResultColumn,
  TREE_JOIN_KINDS,
} from './tree.js'
import type { JoinCondition, NodeOf, TypedExpression, TypedNode } from './typed.js'

/** @throws WarpdexError `BAD_REQUEST` */
export function checkJoin(reader: NodeReader, left: TypedNode, right: TypedNode): TypedNode {
  const kind = reader.choice('kind', TREE_JOIN_KINDS, 'inner')
  const algorithm = reader.choice('algorithm', JOIN_ALGORITHMS, 'auto')
  const sides = {
    left,
    right,
    algorithm,
    condition: matching(reader, left, right, algorithm),
    path: reader.path,
  }
  const both = [...left.columns, ...right.columns]
  const filter = reader.has('condition') ? checkCondition(reader.child('condition'), both) : undefined
  if (kind !== 'mark' && filter === undefined) {
    const columns = joinedColumns(kind, left.columns, right.columns)
    return { op: 'join', ...sides, kind, kept: [...columns.keys()], columns }
  }
  if (kind !== 'inner') return joinWhere(reader, kind, sides, filter ?? ALWAYS)
  const kept = [...both.keys()]
  const input: TypedNode = { op: 'join', ...sides, kind, kept, columns: both }
  return { op: 'where', input, condition: filter!, kept, columns: both, path: reader.path }
}

const ALWAYS: TypedExpression = { kind: 'constant', value: true, type: 'boolean', nullable: false }

/** A condition on the pairs of an inner join decides which rows have a partner. */
function joinWhere(
  reader: NodeReader,
  kind: NodeOf<'joinWhere'>['kind'],
  sides: Omit<NodeOf<'join'>, 'op' | 'kind' | 'kept' | 'columns'>,
  condition: TypedExpression,
): TypedNode {
  const { left, right, path } = sides
  const number: ResultColumn = { name: '', type: 'u32', nullable: false }
  const columns = [...left.columns, ...right.columns, number, number]
  const kept = [...columns.keys()]
  const pairs: TypedNode = { op: 'join', ...sides, kind: 'inner', kept, columns }
  const input: TypedNode = { op: 'where', input: pairs, condition, kept, columns, path }
  const given = kind === 'mark' ? left.columns : joinedColumns(kind, left.columns, right.columns)
  const marks: readonly ResultColumn[] =
    kind === 'mark' ? [{ name: columnName(reader, 'as'), type: 'boolean', nullable: false }] : []
  return { op: 'joinWhere', input, kind, kept: [...given.keys()], columns: [...given, ...marks], path }
}

/** What pairs have to have in common: nothing where there is no more than a condition. */
function matching(
  reader: NodeReader,
  left: TypedNode,
  right: TypedNode,
  algorithm: JoinAlgorithm,
): JoinCondition {
  const isBand = reader.has('band')
  if (isBand && reader.has('on')) {
    throw reader.fault('a join has either "on", pairs of columns that are equal, or a "band"')
  }
  if (isBand && algorithm === 'hj') {
    throw reader.fault('a hash join finds equal keys only; a band takes ninlj, inlj or smj')
  }
  if (isBand) return band(reader, left, right)
  if (reader.has('on')) return equality(reader, left, right)
  if (reader.has('condition')) return { pairs: [], width: undefined }
  throw reader.fault('a join needs "on", pairs of columns that are equal, a "band", or a "condition"')
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
