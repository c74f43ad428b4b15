import type { WarpdexError } from '../errors.js'
import { LIMITS } from '../limits.js'
import { columnName } from './check-columns.js'
import { checkCondition, columnNumber } from './check-expression.js'
import { refuseClashes, toldApart } from './column-names.js'
import { comparable } from './comparable.js'
import { castAdvice } from './mismatch.js'
import { faultAt, type NodeReader } from './node-reader.js'
import { JOIN_ALGORITHMS, type JoinAlgorithm, type JoinKind, TREE_JOIN_KINDS } from './tree.js'
import {
  type JoinCondition,
  type NamedColumn,
  type NodeOf,
  type TypedExpression,
  type TypedNode,
  withValues,
} from './typed.js'

/** @throws WarpdexError `BAD_REQUEST` */
export function checkJoin(reader: NodeReader, left: TypedNode, right: TypedNode): TypedNode {
  const kind = reader.choice('kind', TREE_JOIN_KINDS, 'inner')
  const algorithm = reader.choice('algorithm', JOIN_ALGORITHMS, 'auto')
  const sides = { ...matching(reader, left, right, algorithm), algorithm, path: reader.path }
  const [ofLeft, ofRight] = toldApart(left.columns, right.columns)
  const both = [...ofLeft, ...ofRight]
  // Behind the columns of a side are those that were made to compare it.
  const first = sides.left.columns.length
  const kept = [...ofLeft.keys(), ...ofRight.map((_, column) => first + column)]
  const filter = reader.has('condition') ? checkFilter(reader, both) : undefined
  const isHalf = kind === 'semi' || kind === 'anti' || kind === 'mark'
  const columns = isHalf ? left.columns : joinedColumns(kind, ofLeft, ofRight)
  if (kind !== 'mark' && filter === undefined) {
    return { op: 'join', ...sides, kind, kept: kept.slice(0, columns.length), columns }
  }
  if (kind !== 'inner')
    return joinWhere(reader, kind, { ...sides, kept, columns: both }, filter ?? ALWAYS, columns)
  const input: TypedNode = { op: 'join', ...sides, kind, kept, columns: both }
  return { op: 'where', input, condition: filter!, kept: [...both.keys()], columns: both, path: reader.path }
}

const ALWAYS: TypedExpression = { kind: 'constant', value: true, type: 'boolean', nullable: false }

function checkFilter(reader: NodeReader, columns: readonly NamedColumn[]): TypedExpression {
  refuseClashes(reader, columns)
  return checkCondition(reader.child('condition'), columns)
}

/**
 * A condition on the pairs of an inner join decides which rows have a partner.
 * @param given columns of the join, which are the first of the pairs'
 */
function joinWhere(
  reader: NodeReader,
  kind: NodeOf<'joinWhere'>['kind'],
  join: Omit<NodeOf<'join'>, 'op' | 'kind'>,
  condition: TypedExpression,
  given: readonly NamedColumn[],
): TypedNode {
  const { left, right, path } = join
  const number: NamedColumn = { name: '', type: 'u32', nullable: false }
  const columns = [...join.columns, number, number]
  const numbers = left.columns.length + right.columns.length
  const pairs: TypedNode = {
    op: 'join',
    ...join,
    kind: 'inner',
    kept: [...join.kept, numbers, numbers + 1],
    columns,
  }
  const input: TypedNode = { op: 'where', input: pairs, condition, kept: [...columns.keys()], columns, path }
  const marks: readonly NamedColumn[] =
    kind === 'mark' ? [{ name: columnName(reader, 'as'), type: 'boolean', nullable: false }] : []
  return { op: 'joinWhere', input, kind, kept: [...given.keys()], columns: [...given, ...marks], path }
}

/** Both sides, with what has to be compared, and the numbers of that. */
type Matching = Pick<NodeOf<'join'>, 'left' | 'right' | 'condition'>

/** What pairs have to have in common: nothing where there is no more than a condition. */
function matching(reader: NodeReader, left: TypedNode, right: TypedNode, algorithm: JoinAlgorithm): Matching {
  const isBand = reader.has('band')
  if (isBand && reader.has('on')) {
    throw reader.fault('a join has either "on", pairs of columns that are equal, or a "band"')
  }
  if (isBand && algorithm === 'hj') {
    throw reader.fault('a hash join finds equal keys only; a band takes ninlj, inlj or smj')
  }
  if (isBand) return { left, right, condition: band(reader, left, right) }
  if (reader.has('on')) return equality(reader, left, right)
  if (reader.has('condition')) return { left, right, condition: { pairs: [], width: undefined } }
  throw reader.fault('a join needs "on", pairs of columns that are equal, a "band", or a "condition"')
}

function equality(reader: NodeReader, left: TypedNode, right: TypedNode): Matching {
  const made: Readonly<Record<'left' | 'right', TypedExpression[]>> = { left: [], right: [] }
  const numberIn = (side: 'left' | 'right', { columns }: TypedNode, value: TypedExpression) => {
    return value.kind === 'column' ? value.index : columns.length + made[side].push(value) - 1
  }
  const pairs = reader.list('on', 1, LIMITS.queryKeys).map((pair: unknown, i) => {
    const path = `${reader.path}.on[${i}]`
    const [leftName, rightName, ...others] = Array.isArray(pair) ? (pair as unknown[]) : []
    if (typeof leftName !== 'string' || typeof rightName !== 'string' || others.length > 0) {
      throw faultAt(path, 'a pair of column names is needed, that of the left side first')
    }
    const leftColumn = columnNumber(`${path}[0]`, leftName, left.columns)
    const rightColumn = columnNumber(`${path}[1]`, rightName, right.columns)
    const values = comparable(left.columns[leftColumn]!, leftColumn, right.columns[rightColumn]!, rightColumn)
    if (values === undefined) throw unlike(path, left, right, [leftColumn, rightColumn])
    return [numberIn('left', left, values[0]), numberIn('right', right, values[1])] as const
  })
  const extended = (node: TypedNode, values: readonly TypedExpression[]) =>
    values.length === 0 ? node : withValues(node, values, reader.path)
  return {
    left: extended(left, made.left),
    right: extended(right, made.right),
    condition: { pairs, width: undefined },
  }
}

/** Bands are of one word: what He et al. §4 compare. */
function band(reader: NodeReader, left: TypedNode, right: TypedNode): JoinCondition {
  const band = reader.child('band')
  const leftColumn = columnNumber(`${band.path}.left`, band.text('left'), left.columns)
  const rightColumn = columnNumber(`${band.path}.right`, band.text('right'), right.columns)
  const { type } = left.columns[leftColumn]!
  const pair = [leftColumn, rightColumn] as const
  if (type !== right.columns[rightColumn]!.type) throw unlike(band.path, left, right, pair)
  if (type !== 'u32' && type !== 'i32')
    throw band.fault(`a band needs columns of type u32 or i32, not ${type}`)
  const width = band.whole('width', 2 ** 32 - 1)
  band.finish()
  return { pairs: [pair], width }
}

/** Of columns that cannot be compared. */
function unlike(
  path: string,
  left: TypedNode,
  right: TypedNode,
  pair: readonly [number, number],
): WarpdexError {
  const columns = [left.columns[pair[0]]!, right.columns[pair[1]]!]
  const types = columns.map(({ type }) => type)
  const named = columns.map(({ name, type }) => `column "${name.slice(0, 80)}" is ${type}`).join(', ')
  const advice = castAdvice(types, 'a projection with a cast makes them alike')
  return faultAt(path, `${types.join(' and ')} cannot be compared: ${named}${advice}`)
}

/** Whoever may be without a partner gets nulls for the other side's columns. */
function joinedColumns(
  kind: JoinKind,
  left: readonly NamedColumn[],
  right: readonly NamedColumn[],
): readonly NamedColumn[] {
  const padded = (columns: readonly NamedColumn[], kinds: readonly JoinKind[]) =>
    kinds.includes(kind) ? columns.map((column) => ({ ...column, nullable: true })) : columns
  return [...padded(left, ['right', 'full']), ...padded(right, ['left', 'full'])]
}
