import { connect, type Socket } from 'node:net'
import { KEY_BYTES } from './peer.js'

const CARRIAGE_RETURN = 13
const LINE_FEED = 10
const MINUS = 45
const DOLLAR = 36
const STAR = 42
const ZERO = 48

/** What a reply is written to as it comes in. */
interface Pending {
  /** Values that are still to come; undefined before the reply has begun. */
  left: number | undefined
  readonly onValue: (bytes: Buffer, start: number, length: number) => void
  readonly resolve: () => void
  readonly reject: (reason: Error) => void
}

/**
 * A client of Redis that takes keys and gives payloads as columns, without an object for each: faster than any published client, so
 * that it is Redis that is measured. Commands of a turn of the event loop leave together.
 */
export class RespClient {
  readonly #socket: Socket
  readonly #pending: Pending[] = []
  #first = 0
  #rest: Buffer = Buffer.alloc(0)

  static async open(port: number): Promise<RespClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject)
    })
    return new RespClient(socket)
  }

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('close', () => {
      for (const pending of this.#pending.slice(this.#first)) pending.reject(new Error('Redis has gone'))
    })
    socket.on('error', () => {})
  }

  /**
   * Sends a command.
   *
   * @param onValue gets each of the reply's values; a length of -1 is none
   */
  send(command: Buffer, onValue: Pending['onValue']): Promise<void> {
    if (this.#socket.writableCorked === 0) {
      this.#socket.cork()
      setImmediate(() => this.#socket.uncork())
    }
    this.#socket.write(command)
    return new Promise((resolve, reject) => {
      this.#pending.push({ left: undefined, onValue, resolve, reject })
    })
  }

  async close(): Promise<void> {
    this.#socket.destroy()
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    let at = 0
    for (;;) {
      const next = this.#readOne(bytes, at)
      if (next < 0) break
      at = next
    }
    this.#rest = bytes.subarray(at)
  }

  /** Reads a reply's head, or one value. @returns where the next begins; -1 where the bytes end before */
  #readOne(bytes: Buffer, at: number): number {
    const pending = this.#pending[this.#first]
    if (pending === undefined || at >= bytes.length) return -1
    const kind = bytes[at]
    let cursor = at + 1
    let number = 0
    const negative = bytes[cursor] === MINUS
    if (kind === DOLLAR || kind === STAR) {
      if (negative) cursor++
      for (; cursor < bytes.length && bytes[cursor] !== CARRIAGE_RETURN; cursor++) {
        number = number * 10 + bytes[cursor] - ZERO
      }
    } else {
      cursor = bytes.indexOf(CARRIAGE_RETURN, at)
      if (cursor < 0) return -1
    }
    if (cursor + 1 >= bytes.length) return -1
    const end = cursor + 2
    if (kind === STAR) {
      pending.left = number
      if (number === 0) this.#finish(pending)
      return end
    }
    if (kind !== DOLLAR) {
      if (kind === MINUS) pending.reject(new Error(bytes.toString('latin1', at + 1, cursor)))
      this.#finish(pending)
      return end
    }
    if (!negative && end + number + 2 > bytes.length) return -1
    pending.onValue(bytes, end, negative ? -1 : number)
    pending.left = (pending.left ?? 1) - 1
    if (pending.left === 0) this.#finish(pending)
    return negative ? end : end + number + 2
  }

  #finish(pending: Pending): void {
    pending.resolve()
    this.#first++
    if (this.#first < 1024) return
    this.#pending.splice(0, this.#first)
    this.#first = 0
  }
}

/** A command of a name and words, and of columns of rows in turn: `MGET key …`, `MSET key payload …`. */
export function columnCommand(
  name: string,
  count: number,
  columns: readonly { readonly bytes: Uint8Array; readonly width: number }[],
): Buffer {
  const head = Buffer.from(`*${1 + count * columns.length}\r\n$${name.length}\r\n${name}\r\n`, 'latin1')
  const prefixes = columns.map(({ width }) => Buffer.from(`$${width}\r\n`, 'latin1'))
  const row = columns.reduce((sum, { width }, i) => sum + prefixes[i]!.length + width + 2, 0)
  const command = Buffer.allocUnsafeSlow(head.length + count * row)
  head.copy(command)
  let at = head.length
  for (let i = 0; i < count; i++) {
    for (let column = 0; column < columns.length; column++) {
      const prefix = prefixes[column]!
      const { bytes, width } = columns[column]!
      for (let j = 0; j < prefix.length; j++) command[at++] = prefix[j]!
      for (let j = 0, from = i * width; j < width; j++) command[at++] = bytes[from + j]!
      command[at++] = CARRIAGE_RETURN
      command[at++] = LINE_FEED
    }
  }
  return command
}

/** `ZRANGEBYLEX index [key + LIMIT 0 limit`: the entries of a sorted set from each key on, as secondary indexes are kept in Redis. */
export function rangeCommand(index: string, keys: Buffer, limit: number): Buffer {
  const tail = `$1\r\n+\r\n$5\r\nLIMIT\r\n$1\r\n0\r\n$${String(limit).length}\r\n${limit}\r\n`
  const head = `*7\r\n$11\r\nZRANGEBYLEX\r\n$${index.length}\r\n${index}\r\n$${KEY_BYTES + 1}\r\n[`
  const commands: Buffer[] = []
  for (let first = 0; first < keys.length; first += KEY_BYTES) {
    const key = keys.subarray(first, first + KEY_BYTES)
    commands.push(Buffer.from(head, 'latin1'), key, Buffer.from(`\r\n${tail}`, 'latin1'))
  }
  return Buffer.concat(commands)
}
