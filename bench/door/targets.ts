import { once } from 'node:events'
import { WebSocket } from 'ws'
import type { Index } from '../../clients/sdk/index.js'
import type { AdapterChoice } from '../../gpu/device/adapter.js'
import { asBytes } from '../../protocol/columns.js'
import type { Engine } from '../../src/engine/index.js'
import { numberedPayloads, scatteredKeys } from '../keys.js'

/** What is asked: a server by the client library of its own build, a bare `ws` that sends back what it gets, or an engine in the asking process. */
export type Target =
  | {
      readonly kind: 'server'
      readonly url: string
      readonly sdk: string
      readonly single?: boolean
      /** Whether the keys are put, not asked for. */
      readonly puts?: boolean
      /** Replica set to be asked for its own keys only, of a cluster that has them in equal parts. */
      readonly part?: { readonly set: number; readonly sets: number } | undefined
    }
  | { readonly kind: 'echo'; readonly url: string }
  | {
      readonly kind: 'engine'
      readonly directory: string
      readonly adapter: AdapterChoice
    }

/** A connection to a target, or what stands for one. */
export interface Asker {
  /** Asks for keys. Some of the answers are compared with the numbers of the keys, which are their payloads. */
  ask(keys: Uint32Array, numbers: Uint32Array): Promise<void>
  close(): Promise<void>
}

/** Name of the index, u32 → u32, and the number of its keys. */
export const INDEX = 'numbers'

/** Answers that are compared in each request. */
const COMPARED = 8

/** Rows that are loaded at once. */
const LOADED_ROWS = 1 << 20

export function openTarget({
  target,
  bound,
}: {
  readonly target: Target
  readonly bound: number
}): Promise<Asker> {
  if (target.kind === 'server') return openServer(target)
  return target.kind === 'echo' ? openEcho(target.url) : openEngine(target, bound)
}

function check(keys: Uint32Array, numbers: Uint32Array, payload: (i: number) => unknown): void {
  for (let i = 0; i < keys.length; i += Math.ceil(keys.length / COMPARED)) {
    if (payload(i) !== numbers[i]) throw new Error(`a wrong answer for key ${keys[i]}`)
  }
}

/** The client library of a build: only what this file uses needs to be as it is today. */
type Sdk = Pick<typeof import('../../clients/sdk/index.js'), 'connect'>

/** The client library of a build, by the URL of its folder of compiled modules. */
export async function sdkOf(dist: string): Promise<Sdk> {
  return import(new URL('clients/sdk/index.js', dist).href)
}

async function openServer(target: Extract<Target, { kind: 'server' }>): Promise<Asker> {
  const { url, sdk, single = false, puts = false, part } = target
  const { connect } = await sdkOf(sdk)
  const client = await connect(url, part && { set: part.set })
  const index: Index<'u32', 'u32'> = client.index<'u32', 'u32'>(INDEX)
  return {
    async ask(keys, numbers) {
      if (puts) {
        await index.putMany(keys, numbers)
        return
      }
      if (single) {
        const payload = await index.get(keys[0])
        return check(keys, numbers, () => payload)
      }
      const result = await index.getMany(keys)
      check(keys, numbers, (i) => result.payload(i))
    },
    close: () => client.close(),
  }
}

/** What waits for replies gets them in the order in which it sent. */
async function openEcho(url: string): Promise<Asker> {
  const socket = new WebSocket(url, { perMessageDeflate: false })
  await once(socket, 'open')
  const waiting: ((reply: Uint8Array) => void)[] = []
  let first = 0
  socket.on('message', (data) => {
    waiting[first++]!(data as Buffer)
    if (first < 1024) return
    waiting.splice(0, first)
    first = 0
  })
  return {
    async ask(keys) {
      socket.send(keys)
      const reply = await new Promise<Uint8Array>((resolve) => waiting.push(resolve))
      if (reply.byteLength !== keys.byteLength) throw new Error('an echo has another length')
    },
    async close() {
      socket.close()
      await once(socket, 'close')
    },
  }
}

let engine: Promise<Engine> | undefined

async function openEngine(
  { directory, adapter }: Extract<Target, { kind: 'engine' }>,
  bound: number,
): Promise<Asker> {
  engine ??= loadEngine(directory, adapter, bound)
  const index = (await engine).index(INDEX)
  return {
    async ask(keys, numbers) {
      const { payloads } = await index.read({ op: 'get' }, { keys: { bytes: asBytes(keys), width: 4 } })
      const view = new DataView(payloads.bytes.buffer, payloads.bytes.byteOffset)
      check(keys, numbers, (i) => view.getUint32(4 * i, true))
    },
    close: async () => {},
  }
}

async function loadEngine(directory: string, adapter: AdapterChoice, bound: number): Promise<Engine> {
  const { Engine } = await import('../../src/engine/index.js')
  const opened = await Engine.open({ directory, adapter })
  await opened.createIndex({ name: INDEX, keyType: 'u32', payloadKind: 'u32', unique: false })
  const batches = function* () {
    for (const { first, count } of pieces(bound)) {
      yield {
        keys: { bytes: scatteredKeys(1, first, count), width: 4 },
        payloads: { bytes: numberedPayloads(1, first, count), width: 4 },
      }
    }
  }
  await opened.index(INDEX).bulkLoad(batches())
  return opened
}

/** Numbers below a bound, piece by piece. */
export function* pieces(bound: number): Generator<{ readonly first: number; readonly count: number }> {
  for (let first = 0; first < bound; first += LOADED_ROWS) {
    yield { first, count: Math.min(LOADED_ROWS, bound - first) }
  }
}

/** Gives back what stays open between measurements. */
export async function closeAll(): Promise<void> {
  await (await engine)?.close()
}
