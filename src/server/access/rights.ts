import { type DataRequest, WRITES } from '../../../protocol/data-request.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { ControlOp, ControlRequest } from '../../../protocol/messages.js'
import { RIGHTS, type Right } from '../../../protocol/rights.js'

/** Allows something on all indexes and relations whose names match a pattern, in which each `*` stands for any characters or none. */
export interface Rule {
  readonly index: string
  readonly allow: readonly Right[]
}

/** What somebody may do. */
export class Rights {
  static readonly all = new Rights([{ index: '*', allow: RIGHTS }])
  static readonly none = new Rights([])
  readonly #rules: readonly Rule[]
  readonly #everywhere: ReadonlySet<Right>

  constructor(rules: readonly Rule[]) {
    this.#rules = rules
    const general = rules.filter(({ index }) => /^\*+$/.test(index))
    this.#everywhere = new Set(RIGHTS.filter((right) => general.some((rule) => allows(rule, right))))
  }

  /** All of it, as plain data. */
  get rules(): readonly Rule[] {
    return this.#rules
  }

  /** Whether an index or a relation of that name, be it there or not, is within a right. */
  may(right: Right, index: string): boolean {
    return this.#rules.some((rule) => allows(rule, right) && matches(rule.index, index))
  }

  /** Whether all indexes and relations that are, or ever will be, are within a right. */
  mayEverywhere(right: Right): boolean {
    return this.#everywhere.has(right)
  }

  /** Whether there is a name that is within a right. */
  maySomewhere(right: Right): boolean {
    return this.#rules.some((rule) => allows(rule, right))
  }
}

/** Somebody who was let in. */
export interface Grant {
  /** How messages name who it is. */
  readonly who: string
  /** Name of its token; absent where the server has none. */
  readonly token?: string
  /** What it may do now: a token that was taken out of the file may do nothing. */
  readonly rights: Rights
}

/** The right that each operation on an index or a relation needs; the others concern the connection, or show what the asker may see. */
const NEEDED: { readonly [O in ControlOp]?: Right } = {
  open: 'stats',
  createIndex: 'create',
  dropIndex: 'drop',
  renameIndex: 'drop',
  swapIndexes: 'drop',
  createRelation: 'create',
  dropRelation: 'drop',
  createRelationIndex: 'create',
  append: 'write',
  changeRows: 'write',
  readRelation: 'read',
  openVersion: 'read',
  stats: 'stats',
  snapshot: 'snapshot',
  backup: 'backup',
  handOver: 'snapshot',
  slowRequests: 'stats',
}

/** A backup has all indexes, a calibration keeps the device from all of them, another owner has all of them, and slow requests may be on any. */
const CONCERN_ALL: ReadonlySet<ControlOp> = new Set(['backup', 'calibrate', 'handOver', 'slowRequests'])

/**
 * Refuses a request that needs a right which its asker has not. Whether the index exists does not matter, so that the answer does
 * not tell.
 *
 * @throws WarpdexError `UNAUTHORISED` that says which right is missing
 */
export function authorise({ rights, who }: Grant, request: ControlRequest): void {
  const right = neededBy(request)
  if (right === undefined) return
  const index = targetOf(request)
  if (index === undefined) {
    if (CONCERN_ALL.has(request.op) && !rights.mayEverywhere(right)) {
      throw new WarpdexError('UNAUTHORISED', `${who} lacks the right "${right}" on all indexes`)
    }
    // Of all indexes `stats` shows those that one may see.
    if (right === 'stats' || rights.maySomewhere(right)) return
    throw new WarpdexError('UNAUTHORISED', `${who} lacks the right "${right}" on any index`)
  }
  const needed: [Right, string][] = [[right, index]]
  // Whoever has an index over columns sees what is in them.
  if (request.op === 'createRelationIndex') needed.push(['read', request.relation])
  // How many rows satisfy a condition tells what is in them.
  if (request.op === 'changeRows') needed.push(['read', request.relation])
  const other = otherName(request)
  if (other !== undefined)
    for (const name of [index, other]) for (const each of RENAMING) needed.push([each, name])
  for (const [each, name] of needed) {
    if (rights.may(each, name)) continue
    // Clients ask for a definition before anything else, whatever they are about to do.
    const others = each === 'stats' ? ', or any other there, such as "read" for get and scan' : ''
    throw new WarpdexError(
      'UNAUTHORISED',
      `${request.op} needs the right "${each}" on ${JSON.stringify(name)}${others}; ${who} lacks it`,
    )
  }
}

/**
 * The index that a request for data means, if its asker may do that. To whoever may not do it on all indexes an index that is not there and one
 * that is not its business are the same, so that the answer tells nothing.
 *
 * @throws WarpdexError `UNAUTHORISED`, and what `openedIndex` throws
 */
export function authoriseData<Found extends { readonly definition: { readonly name: string } }>(
  { rights, who }: Grant,
  request: DataRequest,
  engine: { openedIndex(request: DataRequest): Found },
): Found {
  const { op, handle } = request
  // What a condition finds out is what a get does.
  const right = WRITES.has(op) ? 'write' : 'read'
  if (rights.mayEverywhere(right)) return engine.openedIndex(request)
  let found: Found | undefined
  try {
    found = engine.openedIndex(request)
  } catch {
    // Told as what it may not touch.
  }
  const name = found?.definition.name
  if (found !== undefined && rights.may(right, found.definition.name)) return found
  // Whoever may open it by its name knows it.
  const isKnown = name !== undefined && rights.may('stats', name)
  throw new WarpdexError(
    'UNAUTHORISED',
    isKnown
      ? `${op} needs the right "${right}" on ${JSON.stringify(name)}; ${who} lacks it`
      : `${op} needs the right "${right}" on the index with handle ${handle}; ${who} lacks it, or there is no such index`,
  )
}

/**
 * What a calibration was is no secret; a new one is work in the background, as a snapshot is. A query that is kept makes a relation, and
 * names those that it reads itself.
 */
function neededBy(request: ControlRequest): Right | undefined {
  if (request.op === 'query') return request.keep === undefined ? undefined : 'create'
  if (request.op === 'calibrate') return request.again ? 'snapshot' : undefined
  return NEEDED[request.op]
}

/** What it takes on both names, so that nothing is read, written, made or removed that could not be without it. */
const RENAMING: readonly Right[] = ['read', 'write', 'create', 'drop']

/** The name beside that of the index, of a request that changes what names mean. */
function otherName(request: ControlRequest): string | undefined {
  if (request.op === 'renameIndex') return request.to
  return request.op === 'swapIndexes' ? request.with : undefined
}

/** The name of the index or relation that a request is on. */
function targetOf(request: ControlRequest): string | undefined {
  if (request.op === 'query') return request.keep?.name
  const index = 'index' in request ? request.index : undefined
  return index ?? ('relation' in request ? request.relation : undefined)
}

function allows({ allow }: Rule, right: Right): boolean {
  return right === 'stats' ? allow.length > 0 : allow.includes(right)
}

/** Takes the shortest match for each `*`, and comes back only to the last one, so that no pattern takes long. */
function matches(pattern: string, name: string): boolean {
  if (pattern === '*') return true
  const [head, ...parts] = pattern.split('*')
  const tail = parts.pop()
  if (tail === undefined) return name === pattern
  if (name.length < head.length + tail.length || !name.startsWith(head) || !name.endsWith(tail)) return false
  const end = name.length - tail.length
  let at = head.length
  for (const part of parts) {
    const found = name.indexOf(part, at)
    if (found < 0 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}
