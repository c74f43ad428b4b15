import { asBytes, type Column, countOf } from '../../protocol/columns.js'
import { type IndexDefinition, type KeyType, type PayloadKind, SEQUENCE_BYTES } from '../../protocol/types.js'
import type { Bounds } from './call-options.js'
import type { DataCall } from './data-call.js'
import type { IndexCalls, KnownIndex } from './index-calls.js'
import {
  each,
  eachEntry,
  type Part,
  readBitmap,
  readGroups,
  readKeys,
  readNumbers,
  readPayloads,
} from './reply.js'
import { GetAllResult, GetResult, NextResult } from './results.js'
import { type ReadAtOptions, versionOf } from './snapshot.js'

/** A read of keys: what is asked beside them, and what is made of the answer. */
interface KeyRead<Answer> {
  readonly asks: Omit<DataCall, 'count'>
  readonly join: (parts: readonly Part[], of: IndexDefinition) => Answer
}

export function gets<P extends PayloadKind>(
  asks: Pick<DataCall, 'traversal' | 'withSequences'> = {},
): KeyRead<GetResult<P>> {
  return {
    asks: { op: 'get', ...asks, columns: {} },
    join(parts, of) {
      const payloads = readPayloads<P>(parts, of, each)
      const sequences = asks.withSequences ? readNumbers(parts, 'sequences') : undefined
      return new GetResult(readBitmap(parts, 'found'), payloads, sequences)
    },
  }
}

export function getsOfAll<P extends PayloadKind>(): KeyRead<GetAllResult<P>> {
  return {
    asks: { op: 'getAll', columns: {} },
    join: (parts, of) => new GetAllResult(readGroups(parts), readPayloads<P>(parts, of, eachEntry)),
  }
}

export const COUNTS: KeyRead<Uint32Array> = {
  asks: { op: 'count', columns: {} },
  join: (parts) => readNumbers(parts, 'counts'),
}

export function nexts<K extends KeyType, P extends PayloadKind>(
  asks: Pick<DataCall, 'reverse' | 'traversal'>,
  sequences: Uint32Array | undefined,
): KeyRead<NextResult<K, P>> {
  const places = sequences && { bytes: asBytes(sequences), width: SEQUENCE_BYTES }
  return {
    asks: { op: 'getNext', ...asks, columns: { sequences: places } },
    join: (parts, of) =>
      new NextResult<K, P>(
        readBitmap(parts, 'found'),
        readKeys<K>(parts, of, each),
        readPayloads<P>(parts, of, each),
        readNumbers(parts, 'sequences'),
      ),
  }
}

/** A read as of a version, if one is named. */
export function readAt<Answer>({ asks, join }: KeyRead<Answer>, options: ReadAtOptions): KeyRead<Answer> {
  return { asks: { ...asks, version: versionOf(options) }, join }
}

/** What a call for the keys asks. */
function callOf({ asks }: KeyRead<unknown>, keys: Column): DataCall {
  return { ...asks, count: countOf(keys), columns: { keys, ...asks.columns } }
}

/** Reads many keys. */
export function readMany<Answer>(
  calls: IndexCalls,
  read: KeyRead<Answer>,
  keys: Column,
  known: KnownIndex,
  bounds: Bounds,
): Promise<Answer> {
  return calls.ask(known, callOf(read, keys), bounds, read.join)
}

/**
 * Reads one key, in a request with others of the turn.
 * @param pick takes what is of key number i out of the answer
 */
export function readOne<Answer, T>(
  calls: IndexCalls,
  read: KeyRead<Answer>,
  key: Column,
  pick: (answer: Answer, i: number) => T,
  known: KnownIndex,
  bounds: Bounds,
): Promise<T> {
  const send = (whole: DataCall, known: KnownIndex, bounds: Bounds) =>
    calls.ask(known, whole, bounds, read.join)
  return calls.shared.make(callOf(read, key), known, bounds, send, pick)
}
