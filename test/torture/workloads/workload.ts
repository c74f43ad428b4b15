import type { Section } from '../../../protocol/frame.js'
import type { FrameClient } from '../frame-client.js'

/** What clients do with servers that are killed, and what they know. */
export interface Workload {
  /** How much was acknowledged; 0 where nothing is written. */
  readonly acknowledged: number
  /**
   * Looks at what a server has when it was started, before anybody works; creates what is missing.
   * @throws Error that says what is wrong
   */
  check(client: FrameClient): Promise<void>
  /** Works until the connection ends. @throws Error for an answer that must not come */
  work(url: string): Promise<void>
}

/** The reply to a request, which must not be an error. @returns undefined when the connection ended before it came */
export async function askWell(client: FrameClient | undefined, ...request: Parameters<FrameClient['ask']>) {
  const reply = await client?.ask(...request)
  if (reply === undefined || reply.header.ok === true) return reply
  throw new Error(`${JSON.stringify(request[0])} failed: ${JSON.stringify(reply.header)}`)
}

/** Entries of a page. */
const PAGE = 4000

/** All pages of a scan. @returns undefined when the connection ended before the last came */
export async function scanPages(
  client: FrameClient,
  request: { readonly index: string; readonly version?: number; readonly limit?: number },
  range: Readonly<Record<string, Section>> = {},
): Promise<readonly ReadonlyMap<string, Section>[] | undefined> {
  const pages: ReadonlyMap<string, Section>[] = []
  let tokens = {}
  for (;;) {
    const header = { id: client.nextId(), op: 'scan', limit: PAGE, ...request }
    const reply = await askWell(client, header, { ...range, ...tokens })
    if (reply === undefined) return undefined
    pages.push(reply.sections)
    const token = reply.sections.get('tokens')
    if (reply.sections.get('more')?.bytes[0] !== 1 || token === undefined) return pages
    tokens = { tokens: token }
  }
}

/** All entries of an index of u32 keys and payloads. @returns undefined when the connection ended before the last came */
export async function scanNumbers(
  client: FrameClient,
  request: Parameters<typeof scanPages>[1],
): Promise<readonly (readonly [key: number, payload: number])[] | undefined> {
  const pages = await scanPages(client, request)
  return pages?.flatMap((sections) => {
    const payloads = numbersIn(sections, 'payloads')
    return numbersIn(sections, 'keys').map((key, i) => [key, payloads[i]] as const)
  })
}

/** The numbers of a column. */
export function numbersIn(sections: ReadonlyMap<string, Section>, name: string): number[] {
  return [...new Uint32Array(new Uint8Array(sections.get(name)?.bytes ?? []).buffer)]
}

/** A column of numbers. */
export function numbers(...values: readonly number[]): Section {
  return { type: 'u32', bytes: new Uint8Array(Uint32Array.from(values).buffer) }
}

/** The number in a column of one u64. */
export function bigIn(sections: ReadonlyMap<string, Section>, name: string): number {
  return Number(new BigUint64Array(new Uint8Array(sections.get(name)?.bytes ?? []).buffer)[0])
}
