import type { KeyType, PayloadKind, ScalarKeyType } from '../../protocol/types.js'

/** The types of an index, which its definition has: those that are misspelt do not compile. */
export interface IndexTypes<K extends KeyType, P extends PayloadKind> {
  readonly name: string
  readonly keyType: K & TupleType<K>
  readonly payloadKind: P & FixedKind<P>
}

/** The type of a tuple, if its parts, two at least and separated by commas, are types of keys. Other types are what they are. */
export type TupleType<K extends string> = K extends `tuple(${infer Parts})`
  ? string extends Parts
    ? K
    : Parts extends `${ScalarKeyType},${infer Others}`
      ? Others extends PartsLike<Others>
        ? K
        : never
      : never
  : K

/** Parts of a tuple, those of them in the place of others that are types of keys. */
type PartsLike<Parts extends string> = Parts extends `${infer First},${infer Others}`
  ? First extends ScalarKeyType
    ? `${First},${PartsLike<Others>}`
    : never
  : Parts extends ScalarKeyType
    ? Parts
    : never

/** The kind of payloads of n bytes, if an index can have them. Other kinds are what they are. */
export type FixedKind<P extends string> = P extends `fixed(${infer Bytes extends number})`
  ? number extends Bytes
    ? P
    : Bytes extends FixedBytes
      ? P
      : never
  : P

/** From 1 to `LIMITS.fixedPayloadBytes`. */
export type FixedBytes = Exclude<UpTo<64>, 0>

type UpTo<N extends number, Counted extends readonly number[] = [0]> = Counted['length'] extends N
  ? N | Counted[number]
  : UpTo<N, [...Counted, Counted['length']]>
