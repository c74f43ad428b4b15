import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { PayloadSpace } from '../../clients/load-test/payload-space.js'
import type { PayloadRows, ReadAnswer } from '../../clients/load-test/target.js'
import { type Client, connect, type Index } from '../../clients/sdk/index.js'
import { asBytes } from '../../protocol/columns.js'
import { childProgram } from '../child-program.js'
import { type Batch, bigEndianKey, columnAnswer, type Peer } from './peer.js'

/** Name of the index. */
const INDEX = 'peers'

/** A server that the client library speaks to. */
abstract class ServerPeer implements Peer {
  abstract readonly name: string
  abstract readonly note: string
  protected readonly client: Client
  protected readonly index: Index<'u64'>
  protected readonly payloads: PayloadSpace

  constructor(client: Client, payloads: PayloadSpace) {
    this.client = client
    this.index = client.index<'u64'>(INDEX)
    this.payloads = payloads
  }

  async read({ words }: Batch): Promise<ReadAnswer> {
    const result = await this.index.getMany(column(words))
    return columnAnswer(asBytes(result.payloads.array), this.payloads.width, (i) => result.has(i))
  }

  async insert({ words, count }: Batch, { bytes }: PayloadRows): Promise<void> {
    await this.index.insertMany(column(words), this.payloads.column(bytes, count))
  }

  async close(): Promise<void> {
    await this.client.close()
  }
}

/** This server. */
export class WarpdexPeer extends ServerPeer {
  readonly name = 'warpdex'
  readonly note = 'in a process of its own, over WebSocket; inserts are durable'

  /** Creates the index. */
  static async open(url: string, payloads: PayloadSpace): Promise<WarpdexPeer> {
    const client = await connect(url)
    await client.createIndex({ name: INDEX, keyType: 'u64', payloadKind: payloads.kind, unique: true })
    return new WarpdexPeer(client, payloads)
  }

  /** Stores the data set, and takes the snapshot that would else be taken while something is measured. */
  async load(batches: Iterable<readonly [Batch, PayloadRows]>): Promise<void> {
    const payloads = this.payloads
    const source = function* () {
      for (const [{ words, count }, { bytes }] of batches) {
        yield { keys: column(words), payloads: payloads.column(bytes, count) }
      }
    }
    await this.index.bulkLoad(source())
    await this.client.takeSnapshot(INDEX)
  }

  async scan({ words }: Batch, limit: number): Promise<number> {
    return (await this.index.ranges({ from: column(words), pageSize: limit }).firstPage()).length
  }
}

/** The hash table behind the same frames. */
export class HashPeer extends ServerPeer {
  readonly name = 'CPU hash'
  readonly note =
    'the honest baseline: a typed-array hash table in Node behind the same frames, WebSocket and client; in memory, no order'

  static async open(url: string, payloads: PayloadSpace): Promise<HashPeer> {
    return new HashPeer(await connect(url), payloads)
  }
}

/** Single keys by the client's call for one, which sends those of one turn of the event loop together. */
export class SingleGetPeer implements Peer {
  readonly name = 'warpdex, single gets'
  readonly note = 'calls of one key each, of which the client sends those of one turn in one request'
  readonly batches = [1]
  readonly #client: Client
  readonly #index: Index<'u64'>

  static async open(url: string): Promise<SingleGetPeer> {
    return new SingleGetPeer(await connect(url))
  }

  private constructor(client: Client) {
    this.#client = client
    this.#index = client.index<'u64'>(INDEX)
  }

  async read(keys: Batch): Promise<ReadAnswer> {
    const payload = await this.#index.get(bigEndianKey(keys, 0).readBigUInt64BE())
    const row = typeof payload === 'bigint' ? asBytes(BigUint64Array.of(payload)) : payload
    return { row: () => (row instanceof Uint8Array ? row : undefined) }
  }

  async close(): Promise<void> {
    await this.#client.close()
  }
}

/** The process of the hash table. */
export class HashProcess {
  readonly url: string
  readonly #child: ChildProcess

  static async start(payloadKind: string, room: number): Promise<HashProcess> {
    const child = fork(childProgram('bench/peers/hash-server'), [payloadKind, String(room)])
    const [url] = await once(child, 'message')
    return new HashProcess(child, String(url))
  }

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.url = url
  }

  async stop(): Promise<void> {
    this.#child.disconnect()
    await once(this.#child, 'exit')
  }
}

function column({ buffer, byteOffset, length }: Uint32Array): BigUint64Array {
  return new BigUint64Array(buffer, byteOffset, length / 2)
}
