import { aligned } from '../../protocol/columns.js'
import type { WarpdexError } from '../../protocol/errors.js'
import type { Request } from '../../protocol/messages.js'
import type { AnsweredRequest } from '../observe/answered-request.js'
import { statementOutline } from '../observe/statement-outline.js'
import type { Result } from './backend.js'

/** Names that are kept of a request, which may have many. */
const MOST_NAMES = 8

/** Nodes of a query that are looked at for names of relations: a hostile one may have any number. */
const MOST_NODES = 1000

/** What a request came to. Times are in milliseconds. */
export interface RequestCourse {
  readonly request: Request | undefined
  readonly error: WarpdexError | undefined
  readonly result: Result | undefined
  readonly milliseconds: number
  /** Of them, until the result was there, and from its turn until then; undefined without a result, or a turn. */
  readonly untilResult: number | undefined
  readonly running: number | undefined
  readonly bytesIn: number
  readonly bytesOut: number
}

/** Describes a request: what it named and how much it was, without a key or a value. */
export function describeRequest(course: RequestCourse): Omit<AnsweredRequest, 'token' | 'address'> {
  const { request, error, result, milliseconds, untilResult, running, bytesIn, bytesOut } = course
  const isTimed = untilResult !== undefined && running !== undefined
  return {
    at: Date.now() - milliseconds,
    op: request?.op ?? 'unknown',
    ...targetsOf(request),
    statement: request?.op === 'query' && request.sql ? statementOutline(request.sql.text) : undefined,
    outcome: error?.code ?? 'OK',
    milliseconds,
    times: isTimed
      ? { waiting: untilResult - running, running, replying: milliseconds - untilResult }
      : undefined,
    keys: request !== undefined && 'handle' in request ? request.count : 0,
    rows: result === undefined ? 0 : rowsOf(result),
    bytesIn,
    bytesOut,
  }
}

/** The indexes and relations that a request names. */
function targetsOf(request: Request | undefined): Pick<AnsweredRequest, 'names' | 'handles'> {
  if (request === undefined) return { names: [], handles: [] }
  if ('handle' in request) return { names: [], handles: [request.handle] }
  if (request.op === 'batch') {
    const parts = request.parts.slice(0, MOST_NAMES)
    return {
      names: parts.flatMap((part) => (part.op === 'append' ? [part.relation] : [])),
      handles: parts.flatMap((part) => ('handle' in part ? [part.handle] : [])),
    }
  }
  if (request.op === 'query') return { names: relationsIn(request.query), handles: [] }
  const names: readonly unknown[] = [Object(request).relation, Object(request).index]
  return { names: names.filter((name) => typeof name === 'string'), handles: [] }
}

/** Names of relations in a tree as it came, right or wrong. */
function relationsIn(query: unknown): readonly string[] {
  const names = new Set<string>()
  const nodes: unknown[] = [query]
  for (let i = 0; i < nodes.length && names.size < MOST_NAMES; i++) {
    const node = nodes[i]
    if (typeof node !== 'object' || node === null) continue
    const { op, relation } = node as { readonly op?: unknown; readonly relation?: unknown }
    if (op === 'scan' && typeof relation === 'string') names.add(relation)
    nodes.push(...Object.values(node).slice(0, MOST_NODES - nodes.length))
  }
  return [...names]
}

/** What replies say of rows, each some of it. */
interface Counted {
  readonly batch?: { readonly rows: number }
  readonly kept?: { readonly rows: number }
  readonly rows?: number
  readonly changed?: number
  readonly appended?: readonly { readonly rows: number }[]
}

/** Rows of a batch of a result, entries of a scan, or rows that were stored or changed. */
function rowsOf({ columns, fields }: Result): number {
  if (columns !== undefined) {
    const offsets = columns.offsets && aligned(columns.offsets.bytes, Uint32Array)
    return offsets?.at(-1) ?? 0
  }
  const { batch, kept, rows, changed, appended }: Counted = fields
  const stored = appended?.reduce((sum, each) => sum + each.rows, 0)
  return batch?.rows ?? kept?.rows ?? rows ?? changed ?? stored ?? 0
}
