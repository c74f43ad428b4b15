import { FrameClient } from '../frame-client.js'
import { askWell, numbers, numbersIn, type Workload } from './workload.js'

/** Rows of a part of a load, and parts that are sent and not answered. */
const PART_ROWS = 200
const PARTS_UNDER_WAY = 4
/** Parts of all loads: each is looked for after every start. */
const MOST_PARTS = 300
const LOADED = { index: 'loaded', keyType: 'u32', payloadKind: 'u32', unique: false }

/** A load of parts, of which the first ones are acknowledged, and some more may be stored. */
export class Load implements Workload {
  acknowledged = 0
  #sent = 0

  /** The parts that are stored are the first ones, whole. */
  async check(client: FrameClient): Promise<void> {
    await client.ask({ id: client.nextId(), op: 'createIndex', ...LOADED, ifNotExists: true })
    let stored = 0
    for (let part = 1; part <= this.#sent; part++) {
      const request = { id: client.nextId(), op: 'count', index: 'loaded' }
      const reply = await client.ask(request, { keys: numbers(...partKeys(part)) })
      const rows = numbersIn(reply?.sections ?? new Map(), 'counts').reduce((sum, count) => sum + count, 0)
      if (rows !== 0 && rows !== PART_ROWS)
        throw new Error(`part ${part} of a load has ${rows} rows of ${PART_ROWS}`)
      if (rows === PART_ROWS && stored !== part - 1)
        throw new Error(`part ${part} of a load is there, but not ${stored + 1}`)
      if (rows === PART_ROWS) stored = part
    }
    if (stored < this.acknowledged)
      throw new Error(`${this.acknowledged} parts of a load were acknowledged, ${stored} are there`)
  }

  async work(url: string): Promise<void> {
    const client = await FrameClient.connect(url, 'loader')
    const first = this.acknowledged + 1
    const send = async (part: number): Promise<boolean> => {
      this.#sent = Math.max(this.#sent, part)
      const keys = numbers(...partKeys(part))
      const after = part > 1 ? { after: part - 1 } : {}
      const header = { id: part, op: 'load', index: 'loaded', writeId: part, ...after }
      return (await askWell(client, header, { keys, payloads: keys })) !== undefined
    }
    const underWay = Array.from({ length: PARTS_UNDER_WAY }, (_, i) => send(first + i))
    for (let part = first; await underWay[part - first]; part++) {
      this.acknowledged = part
      underWay.push(send(first + underWay.length))
      if (this.#sent > MOST_PARTS) break
    }
    await Promise.all(underWay)
  }
}

/** Keys of part number i, from 1, which no other part has. */
function partKeys(part: number): number[] {
  return Array.from({ length: PART_ROWS }, (_, row) => part + row * 65_536)
}
