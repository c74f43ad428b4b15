import { Condition } from '../../../protocol/types.js'
import { type Opened, requestFrame } from '../../wire.js'
import { FrameClient } from '../frame-client.js'
import { askWell, numbers, scanNumbers, type Workload } from './workload.js'

/** Indexes that every batch writes to, so that they are the same at any moment. */
export const TWINS = ['twin', 'other twin'] as const
const DEFINITION = { keyType: 'u32', payloadKind: 'u32', unique: true }
/** Batches take turns at these keys. */
const KEYS = 64

/** Batches that write their number to two indexes, if the one before them at their key is there still. */
export class Batches implements Workload {
  acknowledged = 0

  /** Each of the two holds what the batches that were acknowledged have made of it, or one more. */
  async check(client: FrameClient): Promise<void> {
    for (const index of TWINS)
      await client.ask({ id: client.nextId(), op: 'createIndex', ...DEFINITION, index, ifNotExists: true })
    const [one, other] = [
      await scanNumbers(client, { index: TWINS[0] }),
      await scanNumbers(client, { index: TWINS[1] }),
    ]
    if (JSON.stringify(one) !== JSON.stringify(other))
      throw new Error(`a batch is in one of two indexes only: ${JSON.stringify([one, other])}`)
    const possible = [this.acknowledged, this.acknowledged + 1].map((batches) =>
      JSON.stringify(after(batches)),
    )
    if (possible.includes(JSON.stringify(one))) return
    throw new Error(`after ${this.acknowledged} batches there is ${JSON.stringify(one)}`)
  }

  async work(url: string): Promise<void> {
    const client = await FrameClient.connect(url, 'batches')
    const replies = await Promise.all(
      TWINS.map((index) => askWell(client, { id: client.nextId(), op: 'open', index })),
    )
    const opened = replies.flatMap((reply) => (reply === undefined ? [] : [reply.header as object as Opened]))
    if (opened.length < TWINS.length) return
    for (;;) {
      const number = this.acknowledged + 1
      const key = { keys: numbers(number % KEYS) }
      const before = number > KEYS ? number - KEYS : undefined
      const expected = {
        ...key,
        conditions: {
          type: 'u8',
          bytes: Uint8Array.of(before === undefined ? Condition.absent : Condition.payload),
        },
        payloads: numbers(before ?? 0),
      } as const
      const frames = [
        requestFrame({ id: 0, op: 'expect', index: TWINS[0] }, expected, opened[0]),
        ...TWINS.map((index, i) => {
          const insert = { id: 0, op: 'insert', index, mode: 'replace' }
          return requestFrame(insert, { ...key, payloads: numbers(number) }, opened[i])
        }),
      ]
      const parts = frames.map((bytes, i) => [i, { type: 'bytes', bytes }] as const)
      const header = { id: number, op: 'batch', writeId: number }
      if ((await askWell(client, header, Object.fromEntries(parts))) === undefined) return
      this.acknowledged = number
    }
  }
}

/** What is there after so many batches. */
function after(batches: number): readonly (readonly [key: number, payload: number])[] {
  const content = new Map<number, number>()
  for (let number = Math.max(1, batches - KEYS + 1); number <= batches; number++)
    content.set(number % KEYS, number)
  return [...content].sort(([a], [b]) => a - b)
}
