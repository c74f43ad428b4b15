import { aligned } from '../../protocol/columns.js'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import type { IndexDefinition, VariableKeyType } from '../../protocol/types.js'
import { type Client, connect, type Index, ResultCode, type StoredKeys } from '../sdk/index.js'
import type { LoadTestOptions } from './options.js'
import { type PayloadSpace, payloadBytesOf } from './payload-space.js'
import type {
  KeyColumn,
  PayloadRows,
  ReadAnswer,
  ScanAnswer,
  ServerFacts,
  Target,
  TestedServer,
} from './target.js'

/** A warpdex server under test. */
export class WarpdexServer implements TestedServer {
  readonly #client: Client
  readonly #options: LoadTestOptions
  readonly #payloads: PayloadSpace

  private constructor(client: Client, options: LoadTestOptions, payloads: PayloadSpace) {
    this.#client = client
    this.#options = options
    this.#payloads = payloads
  }

  static async open(options: LoadTestOptions, payloads: PayloadSpace): Promise<WarpdexServer> {
    return new WarpdexServer(await open(options), options, payloads)
  }

  async describe(): Promise<ServerFacts> {
    const { server, adapter } = this.#client.server
    return { kind: 'warpdex', version: server, adapter: adapter.name }
  }

  async prepare(): Promise<void> {
    const definition = definitionOf(this.#options)
    if (this.#options.load) {
      await this.#create(definition)
      return
    }
    const { keyType, payloadKind, unique } = await this.#client.index(definition.name).definition()
    if (keyType === definition.keyType && payloadKind === definition.payloadKind && unique) return
    const found = `${keyType} → ${payloadKind}${unique ? ', unique' : ''}`
    const right = `${definition.keyType} → ${definition.payloadKind}, unique`
    throw badRequest(`index "${definition.name}" is ${found}; the test wants ${right}`)
  }

  async #create(definition: IndexDefinition): Promise<void> {
    try {
      await this.#client.createIndex(definition)
    } catch (error) {
      if (!(error instanceof WarpdexError) || error.code !== 'INDEX_EXISTS') throw error
      const message = `${error.message}; give --no-load to use it as it is, or another name with --index`
      throw new WarpdexError('INDEX_EXISTS', message, { cause: error })
    }
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
    const index = this.#client.index(this.#options.index)
    await index.bulkLoad(source(), { onProgress: ({ rows }) => onProgress(rows) })
  }

  async remove(): Promise<void> {
    await this.#client.dropIndex(this.#options.index, { ifExists: true })
  }

  close(): void {
    void this.#client.close({ now: true })
  }
}

/** One connection to a warpdex server. */
export class WarpdexTarget implements Target {
  readonly #client: Client
  readonly #index: Index
  readonly #payloads: PayloadSpace

  private constructor(client: Client, index: string, payloads: PayloadSpace) {
    this.#client = client
    this.#index = client.index(index)
    this.#payloads = payloads
  }

  static async open(options: LoadTestOptions, payloads: PayloadSpace): Promise<WarpdexTarget> {
    const target = new WarpdexTarget(await open(options), options.index, payloads)
    // Asked for once, so that no measured request waits for it.
    await target.#index.definition()
    return target
  }

  async read({ keys }: KeyColumn): Promise<ReadAnswer> {
    const result = await this.#index.get(keys)
    const { array, offsets } = result.payloads
    const row = rowsOf(payloadBytesOf(array), offsets, this.#payloads.width)
    return { row: (i) => (result.has(i) ? row(i) : undefined) }
  }

  async update({ keys, count }: KeyColumn, { bytes }: PayloadRows): Promise<void> {
    const payloads = this.#payloads.column(bytes, count)
    const codes = await this.#index.insert(keys, payloads, { mode: 'replace' })
    countCodes(codes, ResultCode.replaced, ResultCode.inserted)
  }

  async insert({ keys, count }: KeyColumn, { bytes }: PayloadRows): Promise<number> {
    const codes = await this.#index.insert(keys, this.#payloads.column(bytes, count))
    return countCodes(codes, ResultCode.inserted, ResultCode.exists)
  }

  async scan({ keys, width }: KeyColumn, limit: number): Promise<ScanAnswer> {
    const page = await this.#index.scanRanges({ from: keys, limit })
    const { payloads, offsets } = page
    return {
      offsets,
      words: keyWords(page.keys, width),
      row: rowsOf(payloadBytesOf(payloads.array), payloads.offsets, this.#payloads.width),
      more: (i) => page.more(i),
    }
  }

  close(): void {
    void this.#client.close({ now: true })
  }
}

const RECONNECT = { attempts: 20 }

function open({ url, token }: LoadTestOptions): Promise<Client> {
  // A server that does not come back is an error of the test.
  return connect(url, { token, reconnect: RECONNECT })
}

function definitionOf({ index, keyType, payloadKind }: LoadTestOptions): IndexDefinition {
  return { name: index, keyType, payloadKind, unique: true }
}

function rowsOf(
  bytes: Uint8Array,
  offsets: Uint32Array | undefined,
  width: number,
): (i: number) => Uint8Array {
  if (offsets !== undefined) return (i) => bytes.subarray(offsets[i], offsets[i + 1])
  return (i) => bytes.subarray(i * width, (i + 1) * width)
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
