import { badRequest, toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { Sections } from '../../protocol/frame.js'
import type { AppendedRows } from '../../protocol/relation-batch.js'
import type { Traversal } from '../../protocol/traversal.js'
import type { Bounds } from './call-options.js'
import type { Connection, Located, LocatedCall } from './connection.js'
import { encodeCall } from './data-call.js'
import { inTurns, type Turn } from './index-order.js'
import type { Reply } from './reply.js'

/** What is to be written to an index or a relation together with others, and what is expected of it. */
export interface AtomicPart {
  readonly connection: Connection
  /** The index, to which requests go in the order of the calls; undefined of a relation. */
  readonly index: string | undefined
  /** Items that get a result code; rows get their place instead. */
  readonly items: number
  /** Learns what it is written to: at once if that is known, else with the other calls that wait for it, in their order. @param learnt called then */
  learn(bounds: Bounds, learnt: () => void): Promise<void>
  /** The frames of it, by what was learnt: a piece for each connection by which they go. */
  encode(traversal: Traversal | undefined, bounds: Bounds): Promise<readonly EncodedPiece[]>
  /** Learns again what it is written to, if the error is for that. @returns whether it is another now, of the same types */
  learnAgain(error: WarpdexError, bounds: Bounds): Promise<boolean>
}

export interface EncodedPart {
  readonly part: Pick<AtomicPart, 'index' | 'items'>
  readonly pieces: readonly EncodedPiece[]
}

/** What goes to one replica set. */
export interface EncodedPiece {
  readonly connection: Connection
  readonly frames: readonly Uint8Array[]
  /** The calls of the frames; undefined of rows. */
  readonly calls?: readonly LocatedCall[]
}

/** What becomes of a part. */
export type AtomicResult = Uint8Array | AppendedRows

/** Writes all parts in one request, after what was called before on their indexes, and ahead of what is called after it. */
export function writeParts(
  connection: Connection,
  parts: readonly AtomicPart[],
  traversal: Traversal | undefined,
  bounds: Bounds,
): Promise<readonly AtomicResult[]> {
  if (parts.some((part) => part.connection !== connection))
    throw badRequest('batches that are written together are of one client')
  const indexes = parts.flatMap(({ index }) => index ?? [])
  if (new Set(indexes).size < indexes.length)
    throw badRequest(
      'batches that are written together are of different indexes; gather what is for one in one batch',
    )
  return connection.during(async () => {
    const turns: Turn[] = []
    const learning = parts.map((part) =>
      part.learn(bounds, () => {
        if (part.index !== undefined) turns.push(connection.order.take(part.index))
      }),
    )
    await Promise.allSettled(learning)
    return inTurns(turns, bounds, async (leave) => {
      await Promise.all(learning)
      return send(connection, parts, traversal, bounds, leave)
    })
  })
}

/** @param sent called when the request has left */
async function send(
  connection: Connection,
  parts: readonly AtomicPart[],
  traversal: Traversal | undefined,
  bounds: Bounds,
  sent: () => void,
): Promise<readonly AtomicResult[]> {
  for (;;) {
    try {
      const encode = async (part: AtomicPart) => ({ part, pieces: await part.encode(traversal, bounds) })
      return await connection.writeBatch(await Promise.all(parts.map(encode)), bounds, sent)
    } catch (thrown) {
      const error = toWarpdexError(thrown)
      let isOther = false
      for (const part of parts) isOther = (await part.learnAgain(error, bounds)) || isOther
      if (!isOther) throw error
    }
  }
}

/** Writes parts that go by one connection. */
export async function writeByOne(
  connection: Connection,
  encoded: readonly EncodedPart[],
  writeId: number,
  bounds: Bounds,
  sent: () => void,
): Promise<readonly AtomicResult[]> {
  const sections = sectionsOf(encoded.flatMap(({ pieces }) => pieces))
  const answer = connection.request('batch', { writeId }, sections, bounds, true)
  sent()
  return resultsOf(
    encoded.map(({ part }) => part),
    await answer,
  )
}

/** A piece for each place that calls go to. */
export function piecesOf(located: readonly Located[]): readonly EncodedPiece[] {
  return located.map(({ connection, index, calls }) => ({
    connection,
    calls,
    frames: calls.map(({ call }) => encodeCall(call, 0, index, 0)),
  }))
}

/** The sections of a request that has them. */
export function sectionsOf(pieces: readonly EncodedPiece[]): Sections {
  const frames = pieces.flatMap(({ frames }) => frames)
  return Object.fromEntries(frames.map((bytes, i) => [i, { type: 'bytes', bytes }] as const))
}

/** @throws WarpdexError `INTERNAL` for a reply that is not of these parts */
export function resultsOf(
  parts: readonly EncodedPart['part'][],
  { fields, sections }: Reply<'batch'>,
): readonly AtomicResult[] {
  const codes = sections.get('codes')?.bytes ?? new Uint8Array(0)
  const places = [...(fields.appended ?? [])]
  let end = 0
  const results = parts.map(({ index, items }) => {
    if (index === undefined) return places.shift()
    end += items
    return codes.subarray(end - items, end)
  })
  const whole = results.filter((result) => result !== undefined)
  if (end === codes.length && places.length === 0 && whole.length === parts.length) return whole
  throw new WarpdexError('INTERNAL', 'the server answered a batch as if it were another')
}
