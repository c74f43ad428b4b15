import { aligned } from '../../protocol/columns.js'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import type { IndexDefinition, VariableKeyType } from '../../protocol/types.js'
import { type Client, connect, type Index, ResultCode, type StoredKeys } from '../sdk/index.js'
import type { LoadTestOptions } from './options.js'
import type { PayloadSpace } from './payload-space.js'
import type { KeyColumn, PayloadRows, ReadAnswer, ScanAnswer, ServerFacts, Target } from './target.js'
import { walk } from './walk.js'

const RECONNECT = { attempts: 20 }

/** A connection to a warpdex server under test. */
export class WarpdexTarget implements Target {
  readonly #client: Client
  readonly #index: Index
  readonly #definition: IndexDefinition
  readonly #payloads: PayloadSpace

  private constructor(client: Client, options: LoadTestOptions, payloads: PayloadSpace) {
    const { index, keyType, payloadKind } = options
    this.#client = client
    this.#index = client.index(index)
    this.#definition = { name: index, keyType, payloadKind, unique: true }
    this.#payloads = payloads
  }

  static async open(options: LoadTestOptions, payloads: PayloadSpace): Promise<WarpdexTarget> {
    const { url, token } = options
    // A server that does not come back is an error of the test.
    const client = await connect(url, { token, reconnect: RECONNECT })
    return new WarpdexTarget(client, options, payloads)
  }

  async describe(): Promise<ServerFacts> {
    const { server, adapter } = this.#client.server
    return { kind: 'warpdex', version: server, adapter: adapter.name }
  }

  async create(): Promise<void> {
    try {
      await this.#client.createIndex(this.#definition)
    } catch (error) {
      if (!(error instanceof WarpdexError) || error.code !== 'INDEX_EXISTS') throw error
      const message = `${error.message}; give --no-load to use it as it is, or another name with --index`
      throw new WarpdexError('INDEX_EXISTS', message, { cause: error })
    }
  }

  async check(): Promise<void> {
    const { name, ...wanted } = this.#definition
    const { keyType, payloadKind, unique } = await this.#index.definition()
    if (keyType === wanted.keyType && payloadKind === wanted.payloadKind && unique) return
    const found = `${keyType} → ${payloadKind}${unique ? ', unique' : ''}`
    const right = `${wanted.keyType} → ${wanted.payloadKind}, unique`
    throw badRequest(`index "${name}" is ${found}; the test needs ${right}`)
  }

  async load(
    batches: Iterable<readonly [KeyColumn, PayloadRows]>,
    onProgress: (stored: number) => void,
  ): Promise<void> {
    const payloads = this.#payloads
    const source = function* () {
      for (const [keys, rows] of batches) {
        yield { keys: keys.keys, payloads: payloads.column(rows.bytes, keys.count) }
      }
    }
    await this.#index.bulkLoad(source(), { onProgress: ({ rows }) => onProgress(rows) })
  }

  async remove(): Promise<void> {
    await this.#client.dropIndex(this.#definition.name, { ifExists: true })
  }

  async read({ keys }: KeyColumn): Promise<ReadAnswer> {
    const result = await this.#index.getMany(keys)
    const row = this.#payloads.rows(result.payloads)
    return { row: (i) => (result.has(i) ? row(i) : undefined) }
  }

  async update({ keys, count }: KeyColumn, { bytes }: PayloadRows): Promise<void> {
    const payloads = this.#payloads.column(bytes, count)
    const codes = await this.#index.putMany(keys, payloads)
    countCodes(codes, ResultCode.replaced, ResultCode.inserted)
  }

  async insert({ keys, count }: KeyColumn, { bytes }: PayloadRows): Promise<number> {
    const codes = await this.#index.insertMany(keys, this.#payloads.column(bytes, count))
    return countCodes(codes, ResultCode.inserted, ResultCode.exists)
  }

  async scan({ keys, width }: KeyColumn, limit: number): Promise<ScanAnswer> {
    const page = await this.#index.ranges({ from: keys, pageSize: limit }).firstPage()
    return {
      offsets: page.offsets,
      words: keyWords(page.keys, width),
      row: this.#payloads.rows(page.payloads),
      more: (i) => page.more(i),
    }
  }

  walk(from: KeyColumn, limit: number): Promise<ScanAnswer> {
    return walk(this.#index, this.#payloads, from, limit)
  }

  close(): void {
    void this.#client.close({ now: true })
  }
}

/** @throws WarpdexError `INTERNAL` for keys that no load test has stored */
function keyWords(keys: ArrayBufferView | StoredKeys<VariableKeyType>, width: number): Uint32Array {
  if (ArrayBuffer.isView(keys)) return new Uint32Array(keys.buffer, keys.byteOffset, keys.byteLength / 4)
  const { bytes, offsets } = keys
  if (offsets.every((offset, i) => offset === 4 * i * width)) return aligned(bytes, Uint32Array)
  throw new WarpdexError('INTERNAL', 'the index has keys of other lengths, which no load test has stored')
}

/** @returns how many codes are the second of the two; @throws WarpdexError `INTERNAL` for any other */
function countCodes(codes: Uint8Array, first: number, second: number): number {
  let seconds = 0
  for (const code of codes) {
    if (code === second) seconds++
    else if (code !== first) throw new WarpdexError('INTERNAL', `the server answered a write by code ${code}`)
  }
  return seconds
}
