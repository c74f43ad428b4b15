import { decodeDataRequest } from './data-frame.js'
import type { DataOp, DataRequest } from './data-request.js'
import { badRequest, toWarpdexError, WarpdexError } from './errors.js'
import { decodeFrame, isControlFrame } from './frame.js'
import { LIMITS } from './limits.js'
import { type ColumnSections, columnSections } from './relation-sections.js'
import { RequestReader } from './request-reader.js'
import { parseSpread, type Spread } from './spread.js'

/** What `append` has beside its id. */
export interface AppendFields {
  readonly relation: string
  readonly rows: number
  /** A write of the same client with the same number is applied once, however often it is sent. */
  readonly writeId: number | undefined
  /** What the relation is taken for, as in the requests of a client of a cluster. */
  readonly spread: Spread | undefined
  /** Nullable ones may be left out. */
  readonly columns: readonly ColumnSections[]
}

export function readAppend(r: RequestReader): AppendFields {
  return {
    relation: r.indexName('relation'),
    rows: r.whole('rows'),
    writeId: r.optionalWhole('writeId'),
    spread: parseSpread(r.value('spread')),
    columns: columnSections(r),
  }
}

/** A part of a batch: writes to one index, conditions on one, or rows for a relation. */
export type BatchPart = DataRequest | (AppendFields & { readonly op: 'append' })

/** What a batch is a part of that several replica sets of a cluster make, all of them or none. */
export interface JointBatch {
  /** Of 1 to 64 printable ASCII characters, the same for all of them. */
  readonly id: string
  /** Numbers of the replica sets, in ascending order. */
  readonly sets: readonly number[]
}

/** @throws WarpdexError `BAD_REQUEST` */
export function readJoint(value: unknown): JointBatch | undefined {
  if (value === undefined) return undefined
  const { id, sets }: Partial<JointBatch> = Object(value)
  const isAscending = (all: readonly number[]) => all.every((set, i) => i === 0 || all[i - 1]! < set)
  const isRight =
    typeof id === 'string' &&
    /^[\x21-\x7e]{1,64}$/.test(id) &&
    Array.isArray(sets) &&
    sets.length > 1 &&
    sets.every((set) => Number.isSafeInteger(set) && set >= 0) &&
    isAscending(sets)
  if (isRight) return { id, sets }
  throw badRequest(
    'batch takes a "joint" that is {id, sets}: 1 to 64 printable ASCII characters, and the numbers of two or more replica sets in ascending order',
  )
}

/** Operations on an index that a batch may have. */
const PART_OPS: readonly DataOp[] = ['insert', 'delete', 'write', 'expect']

/**
 * The parts of a batch. Each is a section with a frame, as it would be sent alone, but for id, deadline and write id, which only the batch has.
 * @throws WarpdexError `BAD_REQUEST`, `TOO_LARGE`
 */
export function readParts(r: RequestReader): readonly BatchPart[] {
  const parts: BatchPart[] = []
  const targets = new Set<string>()
  for (;;) {
    const section = r.optionalSection(String(parts.length))
    if (section === undefined) return parts
    if (parts.length === LIMITS.batchParts)
      throw new WarpdexError('TOO_LARGE', `a batch has more than the ${LIMITS.batchParts} parts that it may`)
    const part = readPart(section.bytes, parts.length)
    const target = targetOf(part)
    if (targets.has(target)) throw badRequest(`two parts of a batch have ${target}; make them one`)
    targets.add(target)
    parts.push(part)
  }
}

function readPart(frame: Uint8Array, number: number): BatchPart {
  try {
    const part = isControlFrame(frame)
      ? ({ op: 'append', ...readAppendFrame(frame) } as const)
      : decodeDataRequest(frame)
    if (part.op !== 'append' && !PART_OPS.includes(part.op)) throw noPart(part.op)
    const isBound = 'deadline' in part && part.deadline !== 0
    if (part.writeId === undefined && !isBound) return part
    throw badRequest('a deadline and a write id are those of the whole batch')
  } catch (error) {
    // That of a frame would have the part's id.
    const { code, message } = toWarpdexError(error)
    throw new WarpdexError(code, `part ${number} of a batch: ${message}`)
  }
}

/** An append that is a part of another request, with a frame of its own. */
export function readAppendFrame(frame: Uint8Array): AppendFields {
  const decoded = decodeFrame(frame)
  const { op } = decoded.header
  if (op !== 'append') throw noPart(String(op))
  const reader = new RequestReader(op, decoded)
  const fields = readAppend(reader)
  reader.finish()
  return fields
}

function noPart(op: string): WarpdexError {
  return badRequest(`${op} cannot be a part; parts are ${[...PART_OPS, 'append'].join(', ')}`)
}

function targetOf(part: BatchPart): string {
  if (part.op === 'append') return `rows for relation ${JSON.stringify(part.relation)}`
  return `${part.op === 'expect' ? 'conditions on' : 'writes to'} the index with handle ${part.handle}`
}
