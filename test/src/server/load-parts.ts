import type { Test } from 'tap'
import { PROTOCOL_VERSION, type Section } from '../../../protocol/frame.js'
import { u32, values } from '../engine/open-engine.js'
import { RawClient } from './raw-client.js'

export const PART_ROWS = 500
export const LOADED = { index: 'loaded', keyType: 'u32', payloadKind: 'bytes', unique: false }

/** Part number i, from 1: its keys are its own, and their payloads are one byte each. */
export function part(i: number) {
  const keys = u32(...Array.from({ length: PART_ROWS }, (_, row) => i + row * 65_536))
  const offsets = u32(...Array.from({ length: PART_ROWS + 1 }, (_, row) => row))
  const after = i > 1 ? { after: i - 1 } : {}
  return {
    header: { id: i, op: 'load', index: 'loaded', writeId: i, ...after },
    sections: {
      keys: column(keys),
      payloadOffsets: column(offsets),
      payloads: { type: 'bytes', bytes: new Uint8Array(PART_ROWS).fill(i) },
    },
  } as const
}

export function column(bytes: Uint8Array): Section {
  return { type: 'u32', bytes }
}

export async function loader(t: Test, url: string): Promise<RawClient> {
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 0, op: 'hello', protocol: PROTOCOL_VERSION, client: 'loader' })
  return client
}

/** Rows of each of the first parts that are there. */
export async function countParts(client: RawClient, parts: number): Promise<number[]> {
  const counts: number[] = []
  for (let i = 1; i <= parts; i++) {
    const reply = await client.ask({ id: 0, op: 'count', index: 'loaded' }, { keys: part(i).sections.keys })
    counts.push(values(reply.sections.get('counts')!.bytes).reduce((sum, count) => sum + count, 0))
  }
  return counts
}

/** Checks that the first parts are there, whole, and no others. */
export function checkParts(t: Test, counts: readonly number[], least: number): void {
  const stored = counts.filter((count) => count === PART_ROWS).length
  t.ok(stored >= least, `${least} parts acknowledged, ${stored} stored, ${counts.length} sent`)
  t.same(counts, [...Array(stored).fill(PART_ROWS), ...Array(counts.length - stored).fill(0)])
}
